use proptest::prelude::*;

use super::{rule, word_rule};

#[test]
fn nesting_without_end_is_refused() {
    for (open, close) in [("$(", ")"), ("( ", ")"), ("$((", "))"), ("${x:-", "}"), ("\"$(", ")\"")] {
        let text = format!("echo {}rm{}", open.repeat(5_000), close.repeat(5_000));
        assert!(rule(&text).is_some(), "{open}");
    }
    for open in [
        "eval ", "{ ", "sudo ", "a=(b=", "function f ", "if ", "while ", "for i in x; do ", "case x in (",
        "! ",
    ] {
        let text = open.repeat(5_000) + "rm -rf /srv/x";
        assert!(rule(&text).is_some(), "{open}");
    }
}

#[test]
fn a_test_that_only_other_shells_take_is_refused() {
    for text in [
        "[[ a; rm -rf ~ ]]", "[[ a & rm -rf ~ ]]", "[[ a\nrm -rf ~", "[[&>\n\nrm -rf ~", "[[ a\nrm -rf ~\n]]",
    ] {
        assert!(rule(text).is_some(), "{text}");
    }
}

#[test]
fn growth_without_end_is_refused() {
    let doubled = format!("a=xxxxxxxx; {} $a -rf", "a=$a$a; ".repeat(200));
    assert!(rule(&doubled).is_some());
    let braces = format!("echo {}", "{a,b}".repeat(200));
    assert_eq!(rule(&braces), None);
    let loops = "for i in 1 2 3 4 5 6 7 8; do ".repeat(8) + "ls" + &"; done".repeat(8);
    assert_eq!(rule(&loops), Some("too-complex"));
    assert_eq!(rule(&"x".repeat(1 << 20)), Some("too-complex"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_makes_it_panic(text in prop::collection::vec(prop::sample::select(TOKENS), 0..24)) {
        let text = text.concat();
        let _ = word_rule(&text);
        // Whatever stands before it, a deletion on a line of its own is seen, or the whole is refused.
        prop_assert!(rule(&format!("{text}\n\nrm -rf /")).is_some() || text.contains('#') || text.contains("<<"), "{text}");
    }

    #[test]
    fn quoting_a_text_makes_it_harmless(text in "[a-z;|&$(){}<>*? -]{0,40}") {
        let command = format!("git commit -m '{text}'");
        prop_assert_eq!(rule(&command), None);
    }
}

const TOKENS: &[&str] = &[
    "a", "é", "日", " ", "\n", ";", "&", "|", "&&", "||", "(", ")", "{", "}", "$", "$(", "${", "$((", "))",
    "`", "'", "\"", "\\", "<", ">", "<<", "<<<", "<(", "&>", "2>&1", "$'", "\\x41", "*", "?", "[", "]", "~",
    "=", "x=", ":-", "/", "//", "#", "if ", "then ", "fi", "for ", "in ", "do ", "done", "while ", "case ",
    "esac", ";;", "function ", "echo ", "eval ", "{ ", "xargs ", "sh -c ", "awk ", "sed ", "find ", "-exec ",
    "!", "^", "%0a", "&lt;", "-", "--", "@", "{a,b}", "{1..9}", "powershell ", "cmd /c ",
];
