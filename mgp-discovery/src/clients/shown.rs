//! Texts of servers, to be shown to people.

use super::{import, secret};

/// The text with what looks like a secret as `***`. `name` is what it is called, if anything.
pub fn without_secrets(name: &str, text: &str) -> String {
    let mut shown = text.to_owned();
    for part in secret::find(name, text).into_iter().rev() {
        shown.replace_range(part, "***");
    }
    shown
}

/// The arguments of a program with what looks like a secret as `***`; `--token VALUE` is one by the name before it.
pub fn args_without_secrets(args: &[String]) -> Vec<String> {
    import::value_names(args).zip(args).map(|(name, argument)| without_secrets(name, argument)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_shown_without_their_secrets() {
        let args =
            ["--api-key", "abc", "--token=def", "https://h/?token=ghi", "--port", "80"].map(str::to_owned);
        let shown = ["--api-key", "***", "--token=***", "https://h/?token=***", "--port", "80"];
        assert_eq!(args_without_secrets(&args), shown);
    }
}
