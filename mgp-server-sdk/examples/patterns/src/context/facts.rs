//! The tool `extract_key_facts`.

use mgp_server_sdk::{Cx, Json, ToolError, schemars};
use mgp_toolindex::embed::StaticEmbedder;
use mgp_types::Error;

use super::bounds::{LONGEST_TEXT, check_length};
use super::categories::categories;
use super::model::ask_model;
use super::sentences::sentences;
use super::summarize::Method;

/// The arguments of `extract_key_facts`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(super) struct ExtractKeyFacts {
    /// The text.
    text: String,
    /// The categories of the wanted facts; if left out: decision, requirement, problem, action, preference, date and
    /// number.
    #[serde(default)]
    categories: Option<Vec<String>>,
}

/// The facts of a text, in its order.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(super) struct KeyFacts {
    facts: Vec<Fact>,
    /// The way in which the facts were found.
    method: Method,
}

/// A fact of a text.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub(super) struct Fact {
    category: String,
    content: String,
    /// How sure it is that the text says so, and that it is of this category, from 0 to 1.
    confidence: f32,
}

pub(super) async fn extract_key_facts(asked: ExtractKeyFacts, cx: Cx) -> Result<Json<KeyFacts>, ToolError> {
    let ExtractKeyFacts { text, categories: wanted } = asked;
    check_length("text", &text, LONGEST_TEXT)?;
    let wanted = wanted.unwrap_or_default();
    if wanted.len() > MAX_CATEGORIES {
        return Err(ToolError::new(format!("`categories` has {MAX_CATEGORIES} names at most")));
    }
    for name in &wanted {
        check_length("categories", name, LONGEST_CATEGORY)?;
    }
    let wanted = if wanted.is_empty() {
        categories().iter().map(|category| category.name.to_owned()).collect()
    } else {
        wanted
    };
    let (facts, method) = match by_model(&cx, &text, &wanted).await? {
        Some(facts) => (facts, Method::Model),
        None => (by_words(&text, &wanted), Method::Extraction),
    };
    Ok(Json(KeyFacts { facts, method }))
}

async fn by_model(cx: &Cx, text: &str, wanted: &[String]) -> Result<Option<Vec<Fact>>, Error> {
    let task = format!(
        "List the facts that the text states, of these categories: {}. Answer with a JSON array of objects with the members \
         `category`, `content` (one sentence) and `confidence` (0 to 1).",
        wanted.join(", ")
    );
    let answer = ask_model(cx, "facts", &task, text, TOKENS_OF_FACTS).await?;
    Ok(answer.and_then(|answer| read(&answer, wanted)))
}

/// Reads the answer of a model, whatever it wrote around the list; `None` if there is no list.
fn read(answer: &str, wanted: &[String]) -> Option<Vec<Fact>> {
    let list = answer.get(answer.find('[')?..=answer.rfind(']')?)?;
    let mut facts: Vec<Fact> = serde_json::from_str(list).ok()?;
    facts.retain(|fact| wanted.contains(&fact.category) && !fact.content.trim().is_empty());
    facts.truncate(MAX_FACTS);
    for fact in &mut facts {
        fact.confidence = fact.confidence.clamp(0.0, 1.0);
    }
    Some(facts)
}

/// Finds the sentences that state facts: by the words that tell a known category, and by likeness to the name of any
/// other.
fn by_words(text: &str, wanted: &[String]) -> Vec<Fact> {
    let embedder = StaticEmbedder::new();
    let named: Vec<_> = wanted.iter().map(|name| embedder.vector(name)).collect();
    let fact = |sentence: &str| {
        let vector = embedder.vector(sentence);
        let confidence = |(name, meant): (&String, &Option<Vec<f32>>)| {
            let known = categories().iter().find(|category| category.name == name);
            match (known, &vector, meant) {
                (Some(category), ..) => category.confidence(sentence),
                (None, Some(vector), Some(meant)) => {
                    let likeness: f32 = vector.iter().zip(meant).map(|(a, b)| a * b).sum();
                    (likeness >= LEAST_LIKENESS).then_some(likeness.min(MAX_LIKENESS))
                }
                _ => None,
            }
        };
        let found = wanted.iter().zip(&named).filter_map(|pair| Some((pair.0, confidence(pair)?)));
        // Of two that are as sure, the first decides.
        let (category, confidence) = found.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        Some(Fact { category: category.clone(), content: sentence.to_owned(), confidence })
    };
    sentences(text).into_iter().filter_map(|sentence| fact(sentence.0)).take(MAX_FACTS).collect()
}

const MAX_CATEGORIES: usize = 32;
const LONGEST_CATEGORY: usize = 64;
const MAX_FACTS: usize = 100;
const TOKENS_OF_FACTS: u32 = 4000;

/// The likeness from which on a sentence is about a category that has no words of its own.
const LEAST_LIKENESS: f32 = 0.35;
const MAX_LIKENESS: f32 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    // covers: P-2-06
    #[test]
    fn facts_are_found_by_the_words_that_tell_them() {
        let text =
            "We met in the garden. We decided to ship in May. It must run on Linux.\nThe price is 40 euros.";
        let facts = by_words(text, &names(&["decision", "requirement", "number"]));
        let found: Vec<_> = facts.iter().map(|fact| (&*fact.category, &*fact.content)).collect();
        assert_eq!(
            found,
            [
                ("decision", "We decided to ship in May."),
                ("requirement", "It must run on Linux."),
                ("number", "The price is 40 euros."),
            ]
        );
        assert!(facts.iter().all(|fact| (0.5..=1.0).contains(&fact.confidence)));
        assert_eq!(by_words(text, &names(&["decision"])).len(), 1);
    }

    #[test]
    fn a_category_without_words_is_known_by_its_meaning() {
        let text = "The database lost its connection to the disk. Sending e-mail to customers was slow.";
        let facts = by_words(text, &names(&["e-mail messages"]));
        let found: Vec<_> = facts.iter().map(|fact| &*fact.content).collect();
        assert_eq!(found, ["Sending e-mail to customers was slow."]);
    }

    #[test]
    fn what_a_model_writes_is_held_to_what_was_asked() {
        let answer = r#"Here you are: [{"category":"decision","content":"Ship.","confidence":7},
            {"category":"gossip","content":"x","confidence":1},{"category":"decision","content":" ","confidence":1}] "#;
        let facts = read(answer, &names(&["decision"])).unwrap();
        assert_eq!(facts, [Fact { category: "decision".into(), content: "Ship.".into(), confidence: 1.0 }]);
        for broken in ["", "none", "]{[", r#"[{"category":1}]"#] {
            assert_eq!(read(broken, &names(&["decision"])), None, "{broken}");
        }
    }
}
