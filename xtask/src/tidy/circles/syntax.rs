//! The part of the syntax of Rust that is needed to see what a file names.

/// A path as it is written, and the name that a `use` gives to what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: Vec<String>,
    /// The name by which the file knows it, if a `use` says so; `*` for all that a module has.
    pub(super) alias: Option<String>,
    /// True if the name is handed on to others.
    pub(super) is_public: bool,
}

/// Returns the code without comments, the contents of strings and what is compiled for tests alone.
pub(super) fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("#[cfg(test)]") {
            skip_item(&mut lines, trimmed.trim_start_matches("#[cfg(test)]"));
        } else if !trimmed.starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    without_strings(&code)
}

/// Skips an item with its braces, which formatted code closes where it opened them.
fn skip_item<'t>(lines: &mut impl Iterator<Item = &'t str>, begun: &'t str) {
    let (mut depth, mut is_first) = (0_i32, true);
    let mut line = Some(begun).filter(|begun| !begun.trim().is_empty()).or_else(|| lines.next());
    while let Some(now) = line {
        depth += count(now, '{') - count(now, '}');
        let ends = now.trim_end().ends_with([';', '}', ',']);
        if depth <= 0 && ends && !(is_first && now.trim_start().starts_with("#[")) {
            return;
        }
        is_first = false;
        line = lines.next();
    }
}

fn count(line: &str, brace: char) -> i32 {
    i32::try_from(line.matches(brace).count()).unwrap_or(0)
}

fn without_strings(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code.chars().peekable();
    while let Some(next) = rest.next() {
        out.push(next);
        match next {
            '"' => {
                while let Some(inner) = rest.next() {
                    match inner {
                        '\\' => drop(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
                out.push('"');
            }
            'r' if matches!(rest.peek(), Some('#')) && !is_in_word(&out) => {
                let hashes = std::iter::from_fn(|| rest.next_if_eq(&'#')).count();
                if rest.next_if_eq(&'"').is_none() {
                    continue;
                }
                let end = format!("\"{}", "#".repeat(hashes));
                let mut inner = String::new();
                while !inner.ends_with(&end) {
                    let Some(next) = rest.next() else { break };
                    inner.push(next);
                }
            }
            '\'' if rest.peek() == Some(&'"') => drop(rest.next()),
            _ => {}
        }
    }
    out
}

fn is_in_word(out: &str) -> bool {
    out.chars().rev().nth(1).is_some_and(is_of_name)
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the modules that the file declares as files of their own, and the code without them.
pub(super) fn children(code: &str) -> (Vec<String>, String) {
    let (mut children, mut rest) = (Vec::new(), String::with_capacity(code.len()));
    for line in code.lines() {
        let name = line.split_once("mod ").and_then(|(_, name)| name.strip_suffix(';'));
        if let Some(name) = name.filter(|name| name.chars().all(is_of_name)) {
            children.push(name.to_owned());
        } else {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    (children, rest)
}

/// Returns what each `use` of the code names, and the code without them.
pub(super) fn uses(code: &str) -> (Vec<Named>, String) {
    let (mut named, mut rest) = (Vec::new(), String::with_capacity(code.len()));
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        let (is_public, tree) = match (trimmed.strip_prefix("use "), trimmed.split_once(" use ")) {
            (Some(tree), _) => (false, tree),
            (None, Some((before, tree)))
                if before == "pub" || before.starts_with("pub(") && before.ends_with(')') =>
            {
                (true, tree)
            }
            _ => {
                rest.push_str(line);
                rest.push('\n');
                continue;
            }
        };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(next) = lines.next() else { break };
            tree.push_str(next.trim());
        }
        let mut leaves = Vec::new();
        tree_leaves(tree.split(';').next().unwrap_or_default(), &[], &mut leaves);
        named.extend(leaves.into_iter().map(|(path, alias)| Named { path, alias: Some(alias), is_public }));
    }
    (named, rest)
}

/// Adds the paths of a tree of a `use`, each with the name that it gives.
fn tree_leaves(tree: &str, before: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    if tree.is_empty() {
        return;
    }
    if let Some((start, group)) = tree.split_once('{') {
        let mut path = before.to_vec();
        path.extend(start.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned));
        let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
        let (mut depth, mut begin) = (0_usize, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    tree_leaves(&group[begin..at], &path, leaves);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        return tree_leaves(&group[begin..], &path, leaves);
    }
    let (path, alias) =
        tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
    let mut full = before.to_vec();
    full.extend(path.split("::").map(str::trim).map(str::to_owned));
    if full.last().is_some_and(|last| last == "self") && full.len() > 1 {
        full.pop();
    }
    let alias = alias.map_or_else(|| full.last().cloned().unwrap_or_default(), str::to_owned);
    leaves.push((full, alias));
}

/// Returns the paths of two names and more that stand in code outside of every `use`.
pub(super) fn paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut rest = code;
    while !rest.is_empty() {
        let name = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        if name == 0 {
            let next = rest.chars().next().map_or(1, char::len_utf8);
            rest = &rest[next..];
            continue;
        }
        path.push(rest[..name].to_owned());
        rest = &rest[name..];
        match rest.strip_prefix("::") {
            Some(after) if after.starts_with(is_of_name) => rest = after,
            _ => {
                let whole = std::mem::take(&mut path);
                if whole.len() > 1 {
                    paths.push(whole);
                }
            }
        }
    }
    paths
}

/// Says whether `name` stands in the code as a word.
pub(super) fn has_word(code: &str, name: &str) -> bool {
    code.match_indices(name)
        .any(|(at, _)| !code[..at].ends_with(is_of_name) && !code[at + name.len()..].starts_with(is_of_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_comments_and_strings_are_no_code() {
        let text = "use a::b;\n// crate::c\nlet x = \"crate::d\";\n#[cfg(test)]\nmod tests {\n    use crate::e;\n}\nfn f() {}\n";
        let code = code(text);
        assert!(code.contains("use a::b;") && code.contains("fn f() {}"), "{code}");
        assert!(!code.contains("crate::"), "{code}");
    }

    #[test]
    fn each_leaf_of_a_use_is_named() {
        let (named, rest) =
            uses("pub(crate) use crate::a::{self, B, c::{D as E, F}};\nuse super::g;\nfn f() {}\n");
        let found: Vec<_> = named
            .iter()
            .map(|named| {
                format!(
                    "{} {} {}",
                    named.path.join("::"),
                    named.alias.clone().unwrap_or_default(),
                    named.is_public
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                "crate::a a true", "crate::a::B B true", "crate::a::c::D E true", "crate::a::c::F F true",
                "super::g g false"
            ]
        );
        assert_eq!(rest, "fn f() {}\n");
    }

    #[test]
    fn paths_in_code_are_found() {
        let found = paths("let a = crate::b::C::new(d::e(x));");
        assert_eq!(found, [vec!["crate", "b", "C", "new"], vec!["d", "e"]]);
    }
}
