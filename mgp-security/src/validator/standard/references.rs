//! The files that a text names for whoever draws or converts it: images, styles, entities.

use super::begins_like_a_path;
use crate::path::is_file_address;

/// Returns the paths and `file:` addresses that `text` names.
pub(super) fn in_text(text: &str) -> impl Iterator<Item = &str> {
    let lower = text.to_ascii_lowercase();
    let images = lower.match_indices("](").filter(|(at, _)| {
        let start = lower[..*at].rfind('[');
        start.is_some_and(|start| lower[..start].ends_with('!'))
    });
    let marks = ["src=", "url("].into_iter().flat_map(|mark| lower.match_indices(mark)).chain(images);
    let addresses = lower.match_indices("file:/").map(|(at, _)| at);
    let sent = lower.trim_start().starts_with('@').then(|| lower.len() - lower.trim_start().len() + 1);
    let starts: Vec<_> = marks.map(|(at, mark)| at + mark.len()).chain(addresses).chain(sent).collect();
    starts.into_iter().filter_map(|start| {
        let rest = text[start..].trim_start_matches(is_space_or_quote);
        let path = rest.split(ends_a_path).next()?;
        (is_file_address(path) || begins_like_a_path(path)).then_some(path)
    })
}

fn is_space_or_quote(character: char) -> bool {
    character.is_whitespace() || matches!(character, '"' | '\'')
}

fn ends_a_path(character: char) -> bool {
    is_space_or_quote(character) || matches!(character, ')' | '<' | '>' | '`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_with_a_text_is_found_and_what_is_only_spoken_of_is_not() {
        for (text, paths) in [
            ("![a](/a.png) [b](/b.png) ![c](c.png) ![d]( ~/d.png )", &["/a.png", "~/d.png"][..]),
            ("<IMG SRC='/a.png'> <img src=../b.png>", &["/a.png", "../b.png"]),
            ("<!ENTITY e SYSTEM \"FILE:///etc/passwd\">", &["FILE:///etc/passwd"]),
            ("@import url( '/a.css' ), url(b.css)", &["/a.css"]),
            (" @/etc/passwd", &["/etc/passwd"]),
            ("see /etc/passwd, or ask @ada about profile: it is in ~/.bashrc", &[]),
        ] {
            assert_eq!(in_text(text).collect::<Vec<_>>(), paths, "{text}");
        }
    }
}
