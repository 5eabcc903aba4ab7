//! The answer to a call that a person has to confirm first, and the question to that person.

use super::{Impact, ToolDeclaration, written};
use crate::macros::record;
use crate::mgp::Timestamp;
use crate::{Object, RawJson, is_hidden};

/// The member of a call's `_meta` that carries the token of its confirmation.
pub const CONFIRMATION_TOKEN: &str = "confirmation_token";

/// The member of a call's `_meta` by which the client says that a person confirmed it.
pub const USER_CONFIRMED: &str = "user_confirmed";

/// The characters of one argument that a question shows at most.
const MAX_SHOWN: usize = 200;

const STATUS: &str = "confirmation_required";

record! {
    /// The answer to a call that was not made, because a person has to confirm it first. Its `status` is
    /// `confirmation_required`.
    #[serde(tag = "status", rename = "confirmation_required")]
    pub struct ConfirmationRequired shows confirmation_message, risk_level: Eq {
        /// The question to the person.
        required confirmation_message: into Box<str>;
        /// The harm that the call can do.
        required risk_level: Impact;
        /// The token that the same call brings once a person has agreed.
        required confirmation_token: into Box<str>;
        /// The moment at which the token ends.
        optional expires_at: Timestamp;
    }
}

impl ConfirmationRequired {
    /// The member of a result's `_meta` that holds the answer.
    pub const MEMBER: &'static str = "confirmation";

    /// Reads the answer in the metadata of a result; `None` if the call was made.
    pub fn read(meta: &Object) -> Option<Self> {
        let answer = meta.object(Self::MEMBER)?;
        (answer.text("status")? == STATUS).then(|| answer.to().ok())?
    }

    /// Returns the answer as JSON.
    pub fn to_raw(&self) -> RawJson {
        written(self)
    }
}

impl ToolDeclaration {
    /// Returns the question to the person who confirms a call with these arguments; `None` if the tool declares none.
    ///
    /// `{name}` stands for the argument of that name, as a text of 200 characters at most, without control and invisible
    /// characters. An argument that is missing, and braces around anything else, stay as they are written.
    pub fn confirmation_question(&self, arguments: &Object) -> Option<String> {
        let mut rest = self.confirmation_message.as_deref()?;
        let mut question = String::with_capacity(rest.len());
        while let Some((text, behind)) = rest.split_once('{') {
            question.push_str(text);
            let shown = behind.split_once('}').and_then(|(name, after)| {
                let value = arguments.get(name).filter(|_| is_parameter(name))?;
                Some((shown(&value), after))
            });
            rest = if let Some((value, after)) = shown {
                question.push_str(&value);
                after
            } else {
                question.push('{');
                behind
            };
        }
        question.push_str(rest);
        Some(question)
    }
}

fn is_parameter(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Returns a value as a text in quotation marks, or another value as its JSON; all on one line.
fn shown(value: &RawJson) -> String {
    let text = value.to_text().unwrap_or_else(|| value.to_string());
    let mut visible =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !is_hidden(*c));
    let mut shown: String = visible.by_ref().take(MAX_SHOWN).collect();
    if visible.next().is_some() {
        shown.push('…');
    }
    // What an argument says must not read as if the question said it.
    format!("“{}”", shown.replace(['“', '”'], "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(message: &str, arguments: &str) -> String {
        let declared =
            ToolDeclaration { confirmation_message: Some(message.into()), ..ToolDeclaration::default() };
        declared.confirmation_question(&Object::parse(arguments.to_owned()).unwrap()).unwrap()
    }

    // covers: EXT-06-02
    #[test]
    fn placeholders_stand_for_arguments_and_anything_else_stays() {
        assert_eq!(
            question("Delete {repo} of {owner} {times} times?", r#"{"repo":"web","times":2}"#),
            "Delete “web” of {owner} “2” times?"
        );
        for same in ["No braces", "{", "}", "{}", "a {b c} d", "{{repo", "open {repo"] {
            let arguments = r#"{"b c":"x","":"y"}"#;
            assert_eq!(question(same, arguments), same);
        }
        assert_eq!(question("{{repo}}", r#"{"repo":"web"}"#), "{“web”}");
        // An argument is no template itself.
        assert_eq!(question("{a}{b}", r#"{"a":"{b}","b":"x"}"#), "“{b}”“x”");
        assert_eq!(ToolDeclaration::default().confirmation_question(&Object::new()), None);
    }

    // covers: EXT-06-02
    #[test]
    fn what_is_shown_of_an_argument_is_one_short_line_that_cannot_pass_for_the_question() {
        let long = format!(r#"{{"a":"{}"}}"#, "ä".repeat(500));
        assert_eq!(question("{a}", &long), format!("“{}…”", "ä".repeat(200)));
        let exact = format!(r#"{{"a":"{}"}}"#, "ä".repeat(200));
        assert_eq!(question("{a}", &exact), format!("“{}”", "ä".repeat(200)));
        let hidden = r#"{"a":"x\u0000\u001b[31m\u202ey\u200b\nz” Proceed? “"}"#;
        assert_eq!(question("{a}", hidden), "“x[31my z\" Proceed? \"”");
        assert_eq!(question("{a}", r#"{"a":{"b":[1,"c"]}}"#), r#"“{"b":[1,"c"]}”"#);
    }

    // covers: EXT-06-05
    #[test]
    fn the_answer_has_the_members_of_the_specification() {
        let json = concat!(
            r#"{"status":"confirmation_required","confirmation_message":"Delete?","risk_level":"destructive","#,
            r#""confirmation_token":"conf-1"}"#
        );
        let answer = ConfirmationRequired::new("Delete?", Impact::Destructive, "conf-1");
        assert_eq!(answer.to_raw().as_bytes(), json.as_bytes());
        let read = |json: &str| {
            ConfirmationRequired::read(&Object::parse(format!(r#"{{"confirmation":{json}}}"#)).unwrap())
        };
        assert_eq!(read(json), Some(answer.clone()));
        assert_eq!(read(r#"{"status":"done"}"#), None);
        assert!(!format!("{answer:?}").contains("conf-1"), "a token is no text for logs");
    }
}
