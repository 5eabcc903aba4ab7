//! The table of what no command may do, `never.txt`.

use std::sync::LazyLock;

use regex::RegexSet;

use crate::Finding;
use crate::data_file::{sections, split};

/// Checks that a text shows nothing that no command may do.
pub(super) fn check(text: &str) -> Result<(), Finding> {
    let found = TABLE.expressions.matches(text).iter().next();
    found.map_or(Ok(()), |at| {
        let (class, advice) = TABLE.classes[at];
        Err(Finding::new(class, advice))
    })
}

struct Table {
    /// The class and the advice of each expression.
    classes: Vec<(&'static str, &'static str)>,
    expressions: RegexSet,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let (mut classes, mut expressions) = (Vec::new(), Vec::new());
    for entry in sections(include_str!("never.txt")).into_iter().flat_map(|section| section.entries) {
        let class = split(entry.line, " | ");
        let own =
            entry.below.into_iter().filter(|line| !line.starts_with(['+', '-']) || line.starts_with("--"));
        for expression in own {
            classes.push(class);
            expressions.push(format!("(?i){}", expression.replace("END", r#"(?:[\s;&|)"'`]|$)"#)));
        }
    }
    let expressions =
        RegexSet::new(expressions).expect("the expressions are constants, and the tests compile them");
    Table { classes, expressions }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_expression_is_about_its_examples_and_not_about_the_others() {
        assert!(TABLE.classes.len() <= 60, "{} expressions", TABLE.classes.len());
        let mut at = 0;
        for entry in sections(include_str!("never.txt")).into_iter().flat_map(|section| section.entries) {
            let class = split(entry.line, " | ").0;
            let (mut has_example, mut is_first) = (false, true);
            for line in entry.below {
                match line.split_once(' ') {
                    Some(("+", example)) => {
                        let found = TABLE.expressions.matches(example);
                        assert!(found.matched(at - 1), "{class}: {example}");
                        has_example = true;
                    }
                    Some(("-", example)) => assert_eq!(check(example), Ok(()), "{example}"),
                    _ => {
                        assert!(is_first || has_example, "expression {at} has no example");
                        (has_example, is_first) = (false, false);
                        at += 1;
                    }
                }
            }
            assert!(has_example, "{class}");
        }
    }
}
