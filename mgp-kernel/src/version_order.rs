//! The order of versions.

/// Returns whether a version is newer than another one, in the order of Semantic Versioning. Versions of other forms are
/// compared as far as they have numbers.
pub(crate) fn is_newer(version: &str, than: &str) -> bool {
    order(version) > order(than)
}

/// Returns the numbers of a version, and its place among the versions with the same ones: those before the release come
/// first.
fn order(version: &str) -> (Vec<u64>, bool, Vec<(u64, &str)>) {
    let version = version.trim_start_matches('v').split('+').next().unwrap_or_default();
    let (release, before) = version.split_once('-').unwrap_or((version, ""));
    // `1.2` and `1.2.0` are the same.
    let numbers = release.trim_end_matches(".0").split('.').map(|part| part.parse().unwrap_or(0)).collect();
    // Words come after numbers.
    let parts = before.split('.').map(|part| part.parse().map_or((u64::MAX, part), |number| (number, "")));
    (numbers, before.is_empty(), parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let ordered = [
            "0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0", "v1.2",
            "1.10.0", "2026.1.1",
        ];
        for (at, version) in ordered.iter().enumerate() {
            for (other_at, other) in ordered.iter().enumerate() {
                assert_eq!(is_newer(version, other), at > other_at, "{version} {other}");
            }
        }
        assert!(!is_newer("1.2.0", "1.2") && !is_newer("1.2.0+b", "1.2.0+a") && !is_newer("", ""));
    }
}
