# Management libraries that play a script: NVIDIA's (tests/gpu/fake_nvml.c),
# AMD's and Intel's.
FAKE_NVML = $(O)/gpu/libnvidia-ml.so.1
FAKE_ROCM = $(O)/gpu/librocm_smi64.so
FAKE_ZE   = $(O)/gpu/libze_loader.so.1
FAKES     = $(FAKE_NVML) $(FAKE_ROCM) $(FAKE_ZE)
$(FAKE_NVML): $(O)/tests/gpu/fake_nvml.o $(O)/tests/gpu/fake_nvml_parts.o
$(FAKE_ROCM): $(O)/tests/gpu/fake_rocm.o
$(FAKE_ZE): $(O)/tests/gpu/fake_ze.o
$(FAKES):
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^

# Work for a real GPU.
GPU_LOAD = $(O)/gpu/load
$(GPU_LOAD): $(O)/tests/gpu/load.o
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl

gpu-fake: $(FAKES)
e2e-tools: $(FAKES) $(GPU_LOAD)
$(filter $(O)/unit/test_gpu_%,$(UNIT)): | $(FAKES)
-include $(wildcard $(O)/tests/gpu/*.d)
.PHONY: gpu-fake
