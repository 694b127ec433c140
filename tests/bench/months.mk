# Measure queries over 1, 10 and 30 million jobs in PostgreSQL: "make bench-months"
# takes 20 GB of disk and 10 to 30 minutes, so "make bench" leaves it out.
bench-months: $(O)/batchjob_stats_db $(O)/batchjob_stats_server
	python3 tests/bench/months.py $(O)
.PHONY: bench-months
