//! Static counters of cases.
