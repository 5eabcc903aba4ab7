//! The names of types: no two types of one crate have the same.

use std::collections::BTreeMap;

use super::arrows::Crate;

/// Reports the names that several types of the library have, each with the files that define them.
pub(super) fn repeated(library: &str, sources: &Crate) -> Vec<String> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, code) in sources.files() {
        for name in types(code) {
            files.entry(name).or_default().push(file);
        }
    }
    let repeated = files.into_iter().filter(|(_, files)| files.len() > 1);
    repeated
        .map(|(name, files)| {
            format!("{library}: {} types have the name `{name}`: {}", files.len(), files.join(", "))
        })
        .collect()
}

/// Returns the names of the types that the code defines. Types with a `#[cfg]` are left out: they replace each other.
fn types(code: &str) -> impl Iterator<Item = &str> {
    let mut is_conditional = false;
    code.lines().filter_map(move |line| {
        let item = line.trim_start();
        if item.starts_with("#[") {
            is_conditional |= item.starts_with("#[cfg(");
            return None;
        }
        let found = defined_type(line).filter(|_| !is_conditional);
        is_conditional = false;
        found
    })
}

fn defined_type(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let item = match item.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => item.strip_prefix("pub ").unwrap_or(item),
    };
    let (kind, rest) = item.split_once(' ')?;
    // An indented `type` belongs to a trait.
    let is_alias = kind == "type" && !line.starts_with(' ');
    let is_type = is_alias || matches!(kind, "struct" | "enum" | "trait" | "union");
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| is_type && name.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(sources: &[(&str, &str)]) -> Vec<String> {
        let sources = sources.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        repeated("mgp-x", &Crate::new(&sources))
    }

    #[test]
    fn two_types_of_one_name_are_reported_with_their_files() {
        let sources = [
            ("lib.rs", "mod one;\nmod two;\n"),
            ("one.rs", "pub(crate) struct Row {\n}\ntype Answer = u8;\n"),
            ("two.rs", "enum Row {\n}\nrecord! {\n    pub struct Answer: Eq {\n    }\n}\n"),
        ];
        let expected = [
            "mgp-x: 2 types have the name `Answer`: one.rs, two.rs",
            "mgp-x: 2 types have the name `Row`: one.rs, two.rs",
        ];
        assert_eq!(faults(&sources), expected);
    }

    #[test]
    fn types_of_tests_of_traits_and_of_other_configurations_may_share_a_name() {
        let sources = [
            ("lib.rs", "mod one;\nmod two;\n#[cfg(test)]\nmod tests;\n#[cfg(unix)]\npub struct Link;\n"),
            (
                "one.rs",
                "impl Service for A {\n    type Error = E;\n}\n#[cfg(windows)]\n#[derive(Debug)]\nstruct Link;\n",
            ),
            (
                "two.rs",
                "impl Service for B {\n    type Error = E;\n}\n#[cfg(test)]\nmod tests {\n    struct Peer;\n}\n",
            ),
            ("tests.rs", "struct Peer;\n"),
        ];
        assert_eq!(faults(&sources), Vec::<String>::new());
    }
}
