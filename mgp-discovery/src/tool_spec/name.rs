//! Invocation names: `module.tool`, in lower-case letters, digits and underscores.

use mgp_types::ext::DottedName;

/// Returns whether two names are of one tool: they are the same in lower case with underscores, or one of them is the
/// other without its module.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (parts(one), parts(other));
    let (long, short) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    !short.is_empty() && long.ends_with(&short)
}

/// Returns the invocation name of a tool; `None` if no letter or digit is left.
///
/// `FinancialAnalyzer` becomes `financial_analyzer`, and what is no letter or digit of ASCII an underscore. A name with
/// the right form stays if no module is given.
pub(super) fn invocation_name(module: Option<&str>, name: &str) -> Option<String> {
    let mut all = module.map(parts).unwrap_or_default();
    all.extend(parts(name));
    let name = all.join(".");
    DottedName::read(&name).map(|_| name)
}

/// Returns the parts of a name between dots and slashes, in lower case with underscores.
fn parts(name: &str) -> Vec<String> {
    name.split(['.', '/']).filter(|part| part.chars().any(|c| c.is_ascii_alphanumeric())).map(snake).collect()
}

fn snake(part: &str) -> String {
    let mut text = String::with_capacity(part.len() + 4);
    let mut before = '_';
    for character in part.chars() {
        let begins_word =
            character.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        if begins_word {
            text.push('_');
        }
        text.push(if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' });
        before = character;
    }
    text
}
