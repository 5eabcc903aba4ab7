//! A registered server as it is shown to whoever decides about it: whole, and so that nothing in it hides.

use mgp_types::shell_word;

use super::Launch;

impl Launch {
    /// Returns the whole command line, written as for a shell, or the address. Characters that cannot be seen, or that
    /// change how others are shown, are spelled out.
    pub fn line(&self) -> String {
        match self {
            Self::Program { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(|word| shell_word(&visible(word)));
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Web { url, .. } => visible(url),
        }
    }
}

/// Returns the text with every character spelled out that is no ASCII and no letter or digit of another script: signs
/// that look like others, blanks that are none, and what reorders or hides.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c == ' ' || c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric()) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(command: &str, args: &[&str]) -> String {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Launch::Program { command: command.into(), args, env: Vec::new() }.line()
    }

    #[test]
    fn the_whole_line_is_shown_and_its_words_are_told_apart() {
        assert_eq!(line("python3", &["-u", "/srv/a.py"]), "python3 -u /srv/a.py");
        assert_eq!(line("awk", &["BEGIN{system(\"id\")}"]), "awk 'BEGIN{system(\"id\")}'");
        assert_eq!(line("sh", &["-c", "echo 'a' b", ""]), r"sh -c 'echo '\''a'\'' b' ''");
        let long = "x".repeat(5000);
        assert!(line("a", &[&long]).ends_with(&long));
    }

    #[test]
    fn what_hides_is_spelled_out() {
        assert_eq!(line("a", &["b\u{202e}c\u{1b}[2K\n"]), r"a 'b\u{202e}c\u{1b}[2K\u{a}'");
        assert_eq!(line("a", &["Grüße"]), "a 'Grüße'");
        assert_eq!(visible("a\u{a0}b\u{3164}"), "a\\u{a0}b\u{3164}");
    }
}
