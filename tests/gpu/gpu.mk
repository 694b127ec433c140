# An NVIDIA management library that plays a script (tests/gpu/fake_nvml.c), and
# one that has only what every driver has.
FAKE_NVML = $(O)/gpu/libnvidia-ml.so.1
$(FAKE_NVML): $(O)/tests/gpu/fake_nvml.o
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1 -o $@ $^

gpu-fake: $(FAKE_NVML)
e2e-tools: $(FAKE_NVML)
$(filter $(O)/unit/test_gpu_%,$(UNIT)): | $(FAKE_NVML)
-include $(O)/tests/gpu/fake_nvml.d
.PHONY: gpu-fake
