# Measure what GPUs add to a pass.
$(O)/bench/gpu_bench: $(O)/tests/bench/gpu_bench.o $(O)/tests/unit/lib/core.o $(O)/libcore.a $(O)/libcarbon.a $(O)/libsched.a $(O)/libbase.a
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(BJ_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_core) $(LIBS_base)

bench-gpu: $(O)/bench/gpu_bench $(O)/gpu/libnvidia-ml.so.1
	$(O)/bench/gpu_bench $(abspath $(O)/gpu/libnvidia-ml.so.1) 10

bench: bench-gpu
.PHONY: bench-gpu
