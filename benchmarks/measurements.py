# SPDX-License-Identifier: BSD-3-Clause
"""The medians of what Google Benchmark wrote with --benchmark_out."""
import json
import statistics

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# What an entry has beside its counters.
NO_COUNTERS = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
               "real_time", "cpu_time"}


def median_counters(entries):
    """The counters of one benchmark, medians over its repetitions."""
    names = [name for name, value in entries[0].items()
             if name not in NO_COUNTERS and isinstance(value, (int, float)) and not isinstance(value, bool)]
    return {name: statistics.median(entry[name] for entry in entries) for name in names}


def time_of(entry, real):
    return entry["real_time" if real else "cpu_time"] * SECONDS[entry["time_unit"]]


def bandwidth_limit(counters, bandwidths, caches):
    """The least seconds in which a benchmark's bytes can be read and written, and the cache that holds them; or None.

    A written byte costs what it adds to a copy: a byte read and a byte written. `bytes written in place` are those of
    the written ones that lie where they have been read: they cost what they add to a change in place. `bytes held` is
    what lies in the cache, if that is not the sum of both.
    """
    read, written = counters.get("bytes read", 0), counters.get("bytes written", 0)
    held = counters.get("bytes held", read + written)
    level = next((name for name, size in caches if held <= size), "memory")
    if not read + written or level not in bandwidths["read"] or level not in bandwidths["copy"]:
        return None
    seconds_to_read = 1 / bandwidths["read"][level]
    seconds_to_write = max(2 / bandwidths["copy"][level] - seconds_to_read, 0)
    in_place = counters.get("bytes written in place", 0) if level in bandwidths["change"] else 0
    seconds_to_change = max(2 / bandwidths["change"][level] - seconds_to_read, 0) if in_place else 0
    return read * seconds_to_read + (written - in_place) * seconds_to_write + in_place * seconds_to_change, level


class Measurements:
    """Benchmarks by group and by whose they are: {group: {whose: {counter: median}}}.

    The counter `time` is that of one iteration in seconds: of the processor, or of the clock where several threads
    work. `fma_peak` of a program becomes a counter of each of its benchmarks: the limit of all their threads together.
    So do `of_limit`, the fraction of the machine's limit that is nearest, and `limit`, its name: "FMA", or the cache
    that holds the benchmark's bytes. `bandwidths` are {"read", "copy" or "change": {cache: bytes per second}}.
    """

    def __init__(self):
        self.groups = {}
        self.context = {}
        self.fma_peak = None
        self.bandwidths = {"read": {}, "copy": {}, "change": {}}

    def read(self, path):
        """Adds the benchmarks of one file."""
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        self.context |= {name: value for name, value in content.get("context", {}).items() if isinstance(value, str)}
        runs = {}
        # In the order in which they were registered, not in that of their runs.
        for entry in sorted(content["benchmarks"], key=lambda entry: entry.get("family_index", 0)):
            if entry.get("run_type", "iteration") == "iteration" and not entry.get("error_occurred"):
                runs.setdefault(entry.get("run_name", entry["name"]), []).append(entry)
        found = {}
        for name, entries in runs.items():
            real = name.endswith("/real_time")
            counters = median_counters(entries)
            if "time_unit" in entries[0]:
                counters["time"] = statistics.median(time_of(entry, real) for entry in entries)
            found[name.removesuffix("/real_time")] = counters
        peak = found.pop("fma_peak", {}).get("FLOP/s")
        if peak:
            self.fma_peak = max(peak, self.fma_peak or 0)
        bandwidths = {"read": {}, "copy": {}, "change": {}}
        for kind, where in [name.split("/") for name in found if name.startswith(("read/", "copy/", "change/"))]:
            bandwidths[kind][where] = found.pop(f"{kind}/{where}")["bytes/s"]
            self.bandwidths[kind][where] = max(bandwidths[kind][where], self.bandwidths[kind].get(where, 0))
        caches = [(f"L{cache['level']}", cache["size"]) for cache in content.get("context", {}).get("caches", [])
                  if cache["type"] != "Instruction"]
        for name, counters in found.items():
            group, _, whose = name.rpartition("/")
            limits = []
            if peak:
                counters["fma_peak"] = peak * (2 if group.endswith("/threads:2") else 1)
                if "FLOP/s" in counters:
                    limits.append((counters["FLOP/s"] / counters["fma_peak"], "FMA"))
            memory = bandwidth_limit(counters, bandwidths, caches)
            if memory:
                limits.append((memory[0] / counters["time"], memory[1]))
            if limits:
                counters["of_limit"], counters["limit"] = max(limits)
            self.groups.setdefault(group, {})[whose] = counters
