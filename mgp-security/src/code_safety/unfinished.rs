//! Completion of code that was cut off at its end.

use super::language::Language;

/// Returns the text that closes everything `code` leaves open; `None` if nothing is open, or if its brackets do not
/// match. A language other than Python is read like JavaScript.
///
/// A piece of a program may end in the middle of a function. Closing it adds nothing that runs, so the piece can be
/// judged like a whole program.
pub(super) fn closing(code: &str, language: &Language) -> Option<String> {
    // What is open, by the text that closes it.
    let mut open: Vec<&'static str> = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let in_text = open.last().copied().filter(|end| end.starts_with(['"', '\'', '`']));
        let step = match in_text {
            Some(end) if rest.starts_with(end) => {
                open.pop();
                end.len()
            }
            Some("`") if rest.starts_with("${") => {
                open.push("}");
                2
            }
            Some(_) if first == '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            Some(_) => first.len_utf8(),
            None => step_in_code(rest, first, *language == Language::Python, &mut open)?,
        };
        rest = rest.get(step..)?;
    }
    let closing: String = open.into_iter().rev().collect();
    (!closing.is_empty()).then(|| format!("\n{closing}\n"))
}

fn step_in_code(rest: &str, first: char, is_python: bool, open: &mut Vec<&'static str>) -> Option<usize> {
    let is_comment = if is_python { first == '#' } else { rest.starts_with("//") };
    if is_comment {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !is_python && rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    let ends: &[&'static str] = if is_python { &["\"\"\"", "'''", "\"", "'"] } else { &["`", "\"", "'"] };
    if let Some(end) = ends.iter().find(|end| rest.starts_with(**end)) {
        open.push(end);
        return Some(end.len());
    }
    match first {
        '(' => open.push(")"),
        '[' => open.push("]"),
        '{' => open.push("}"),
        ')' | ']' | '}' if !open.pop().is_some_and(|end| end.starts_with(first)) => return None,
        _ => {}
    }
    Some(first.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_closed_from_the_inside_out() {
        assert_eq!(closing("f(() => { [1, `a${b", &Language::JavaScript).as_deref(), Some("\n}`]})\n"));
        assert_eq!(closing("f('(', \"[\") // {", &Language::JavaScript), None);
        assert_eq!(closing("x = ['a',  # (\n", &Language::Python).as_deref(), Some("\n]\n"));
        assert_eq!(closing("x = '''it's", &Language::Python).as_deref(), Some("\n'''\n"));
    }

    #[test]
    fn brackets_that_do_not_match_are_not_mended() {
        assert_eq!(closing("f(]", &Language::JavaScript), None);
        assert_eq!(closing("}", &Language::Python), None);
        assert_eq!(closing("", &Language::Python), None);
    }
}
