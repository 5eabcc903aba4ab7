/// How much memory the process has in use, where the system tells.
pub(super) fn resident_bytes() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// The line `VmRSS:      5120 kB`. `statm` says the same in pages, whose size only libc knows.
fn parse(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_set_is_read_and_nothing_else() {
        assert_eq!(parse("Name:\tx\nVmHWM:\t 9 kB\nVmRSS:\t  5120 kB\nThreads:\t1\n"), Some(5120 * 1024));
        for other in ["", "VmRSS:", "VmRSS: 1 MB", "VmRSS: -1 kB", "VmRSS: 18446744073709551615 kB"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
