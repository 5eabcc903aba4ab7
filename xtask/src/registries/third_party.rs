//! The packages of others that documents, templates and messages have people fetch.

use super::Registry;

/// A package of others.
#[derive(Debug)]
pub(crate) struct ThirdParty {
    pub(crate) registry: Registry,
    pub(crate) name: &'static str,
}

/// Returns the packages of others.
pub(crate) fn third_party() -> impl Iterator<Item = ThirdParty> {
    let lines = include_str!("third_party.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| parsed(line).expect("a test reads the lines"))
}

fn parsed(line: &'static str) -> Option<ThirdParty> {
    let (registry, rest) = line.split_once(' ')?;
    let registry = match registry {
        "npm" => Registry::Npm,
        "pypi" => Registry::PyPi,
        "crates" => Registry::CratesIo,
        "debian" => Registry::Debian,
        "image" => Registry::Images,
        _ => return None,
    };
    let (name, _what) = rest.split_once(": ")?;
    Some(ThirdParty { registry, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_names_a_registry_a_package_and_what_it_is() {
        assert!(third_party().count() > 10);
        assert!(parsed("npm zod").is_none() && parsed("gems x: y").is_none());
    }
}
