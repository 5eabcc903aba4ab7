//! The forms of a summary.

use mgp_server_sdk::schemars;

use super::categories::categories;

/// The form of a summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Style {
    /// A list of points.
    Bullets,
    /// Running text.
    #[default]
    Narrative,
    /// Points under headings, by what they are about.
    Structured,
}

impl Style {
    /// Writes sentences in this form, in their order.
    pub(super) fn write(self, sentences: &[&str]) -> String {
        match self {
            Self::Narrative => sentences.join(" "),
            Self::Bullets => points(sentences),
            Self::Structured => {
                let mut headings: Vec<&str> = categories().iter().map(|category| category.name).collect();
                headings.push(OTHER);
                let heading = |sentence: &str| {
                    let found = categories().iter().find(|category| category.confidence(sentence).is_some());
                    found.map_or(OTHER, |category| category.name)
                };
                let sections = headings.into_iter().filter_map(|name| {
                    let own: Vec<&str> =
                        sentences.iter().copied().filter(|sentence| heading(sentence) == name).collect();
                    (!own.is_empty()).then(|| format!("## {name}\n{}", points(&own)))
                });
                sections.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// Returns the words that ask a model for this form.
    pub(super) const fn wish(self) -> &'static str {
        match self {
            Self::Bullets => "as a list of points, each a line that begins with `- `",
            Self::Narrative => "as running text",
            Self::Structured => "as points under headings that begin with `## `, by what they are about",
        }
    }
}

fn points(sentences: &[&str]) -> String {
    sentences.iter().map(|sentence| format!("- {sentence}")).collect::<Vec<_>>().join("\n")
}

/// The heading of what belongs to no category.
const OTHER: &str = "other";
