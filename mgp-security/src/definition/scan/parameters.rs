//! What the parameters of a tool tell about the texts in its definition: a parameter that is spoken of by its name,
//! and one that has nothing to do with what the tool is for.

use std::collections::HashSet;
use std::sync::LazyLock;

use mgp_types::Object;
use regex::{Captures, Regex};

use super::atom::{Atom, Hit};
use crate::definition::DefinitionKind;
use crate::definition::fold::Folded;

/// The parameters of a tool, and what it is about.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    names: HashSet<String>,
    /// Whether the tool is about conversations, models or their prompts.
    pub(super) about_talk: bool,
    /// Whether the tool is about access, keys, machines or payments.
    pub(super) about_secrets: bool,
    /// Whether the tool itself does something: sends, deletes, books.
    pub(super) about_deeds: bool,
}

impl Parameters {
    /// Those of `listed`, whose texts are judged by its own name and the start of what it says of itself.
    pub(super) fn of(kind: DefinitionKind, listed: &Object, names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().map(|name| name.to_lowercase()).collect();
        if matches!(kind, DefinitionKind::Resource | DefinitionKind::Template) {
            // It has no parameters that could ask for anything.
            return Self { names, ..Self::of_everything() };
        }
        let text = |member: &str| listed.text(member).unwrap_or_default();
        // A prompt is there to talk with a model, about whatever is to be done.
        let is_prompt = kind == DefinitionKind::Prompt;
        let described = text("description");
        let start =
            described.char_indices().nth(MAX_PURPOSE).map_or(&described[..], |(at, _)| &described[..at]);
        let first = start.split_once(". ").map_or(start, |(first, _)| first);
        let purpose = Folded::new(&format!("{} {first}", super::in_words(&text("name")))).text;
        // A tool that says next to nothing of itself may be for anything.
        let terse = first.split_whitespace().count() < MIN_PURPOSE;
        Self {
            names,
            about_talk: is_prompt || terse || ABOUT_TALK.is_match(&purpose),
            about_secrets: terse || ABOUT_SECRETS.is_match(&purpose),
            about_deeds: is_prompt || terse || ABOUT_DEEDS.is_match(&purpose),
        }
    }

    /// Those of what has none, and may be about anything.
    pub(super) fn of_everything() -> Self {
        Self { names: HashSet::new(), about_talk: true, about_secrets: true, about_deeds: true }
    }

    /// Where `folded` speaks of one of the parameters as the place for something.
    pub(super) fn find(&self, folded: &Folded, hits: &mut Vec<Hit>) {
        if self.names.is_empty() {
            return;
        }
        for groups in SUBJECT.captures_iter(&folded.text) {
            self.note(&groups, folded, hits);
        }
        for groups in INTO.captures_iter(&folded.text) {
            self.note(&groups, folded, hits);
        }
    }

    fn note(&self, groups: &Captures<'_>, folded: &Folded, hits: &mut Vec<Hit>) {
        if let (Some(whole), Some(name)) = (groups.get(0), groups.get(1))
            && self.names.contains(name.as_str())
        {
            let (start, end) = (whole.start(), whole.end());
            let sentence = folded.sentence(start);
            hits.push(Hit { atom: Atom::Parameter, start, end, sentence });
            hits.push(Hit { atom: Atom::PropertyRef, start, end, sentence });
        }
    }
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns are compiled in a test")
}

static INTO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?-u:\b)(?:in|into|as|via|through|to|under|using|with|inside|within|als|im|ins|comme|dans|en|como|em|come|nel|в) (?:the |this |its |das |dem |le |el |o |il )?(?:parameter |field |argument |feld |champ |campo )?["'`]?([a-z_][a-z0-9_-]{1,63})"#,
    )
});

static SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?-u:\b)([a-z_][a-z0-9_-]{2,63})["'`]? ?(?:argument |parameter |field )?(?:expects|carries|must (?:be|contain|hold|carry)|has to (?:be|contain|hold|carry)|should (?:contain|hold|carry)|receives|contains|has|holds|needs|:=|=)"#,
    )
});

static ABOUT_TALK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?-u:\b)(?:chat|conversation|dialog|messag|prompt|llm|model|agent|assistant|gpt|claude|gemini|ai(?-u:\b)|memor|thought|think|context|summar|transcri|ticket|support|handoff|hand over|delegat|mail|slack|reason|complet|generat|ask|question|histor|session|eval|feedback|remember|recall|note|log|trace|debug|bot|talk|speech|voice|call|meeting|thread|discuss|translat|moderat|classif|analy|review|instruct|sampl|template|persona|comment)",
    )
});

static ABOUT_DEEDS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?-u:\b)(?:send|mail|email|post|pay|transfer|bank|book|order|buy|purchas|calendar|event|meeting|appointment|delet|remov|cancel|user|admin|account|role|access|permission|invit|schedul|creat|updat|set|chang|modif|edit|writ|add|run|exec|deploy|publish|push|merg|manag|workflow|plan|task|upload|share|move|reset|grant|approv|hotel|flight|travel|shop|cart|checkout|subscri|invoice|stripe|charg|refund|start|stop|install|login|auth|unlock|lock|home|device|control|browser|click|navigat|confirm|ask|agent|chat|play)",
    )
});

static ABOUT_SECRETS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?-u:\b)(?:secret|credential|password|token|key|auth|login|log in|sign|crypt|ssh|vault|wallet|cert|env|config|deploy|connect|account|user|cloud|aws|azure|gcp|s3|git|remote|server|host|container|docker|kube|process|run|exec|shell|command|terminal|file|read|write|director|folder|path|scan|secur|leak|pay|book|order|card|charge|purchase|bank|transfer|transaction|blockchain|nft|eth|bitcoin|solana|coin|crypto|browser|cookie|session|database|sql|proxy|vpn|dns|network|build|install|backup|copy|upload|download|script|code|function|lambda|app|service|api|system|machine|host|hash|identity|iam|role|permission|profile|redact|privacy|pii|mask|reset|webhook|client|registr|publish|release|npm|package|debug|health|status|mcp|sandbox)",
    )
});

/// Fewer words say nothing of what a tool is for.
const MIN_PURPOSE: usize = 3;
/// How much of a description says what a tool is for.
const MAX_PURPOSE: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_known_by_its_name() {
        let tool = Object::parse(r#"{"name":"add","description":"Adds two numbers."}"#).unwrap();
        let parameters = Parameters::of(DefinitionKind::Tool, &tool, ["Note".to_owned()]);
        let mut hits = Vec::new();
        parameters.find(&Folded::new("put it into `note`, and in noted"), &mut hits);
        assert_eq!(hits.iter().filter(|hit| hit.atom == Atom::PropertyRef).count(), 1);
        assert!(!parameters.about_talk && !parameters.about_secrets);
    }
}
