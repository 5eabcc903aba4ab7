//! The rules: the atoms that are a finding when they stand close together, and where they apply.

use std::sync::LazyLock;

use super::atom::{Atom, Atoms, Vocabulary};
use super::data::{DataFile, Entry, Line, Mistake};
use super::parameters::Parameters;

/// All rules, with the compounds and the evidence that they need.
#[derive(Debug)]
pub(super) struct Rules {
    /// The rules in the order in which they are tried.
    in_order: Vec<Rule>,
    /// The atoms that are made of others.
    pub(super) compounds: Vec<Compound>,
    /// The atoms that no honest definition has beside an order: something to be kept from the user, and files such as
    /// private keys.
    pub(super) evidence: Atoms,
}

/// A rule: sets of atoms of which one each must occur within a number of characters and sentences.
#[derive(Debug)]
pub(super) struct Rule {
    /// The class of the finding.
    pub(super) name: &'static str,
    /// The meaning of the finding, for an operator.
    pub(super) meaning: &'static str,
    scope: Scope,
    /// The largest number of characters of folded text that the atoms may span.
    pub(super) span: usize,
    /// The largest number of sentence ends between the atoms.
    pub(super) sentences: usize,
    /// The sets of atoms, of which one each must occur.
    pub(super) needs: Vec<Atoms>,
}

/// An atom that several others make together within a number of characters of a sentence, in any order, so in any
/// language.
#[derive(Debug)]
pub(super) struct Compound {
    pub(super) atom: Atom,
    pub(super) span: usize,
    pub(super) needs: Vec<Atoms>,
}

/// The place of a text: a text that is harmless in one place may not be in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A description or other prose of a definition.
    Prose,
    /// A default, an example or one of the values to choose from: places where nobody writes sentences.
    Literal,
    /// The name of a parameter, split into words.
    Name,
    /// The name of a parameter, together with its description.
    Parameter,
    /// A result or prompt.
    Text,
}

/// The texts that a rule applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Texts of definitions, and other texts.
    Everywhere,
    Texts,
    Definitions,
    /// Prose of tools that only look something up.
    DefinitionsWithoutDeeds,
    /// Prose of tools that have nothing to do with access.
    DefinitionsWithoutAccess,
    /// Prose of tools that are neither.
    DefinitionsWithoutEither,
    Values,
    Names,
    Parameters,
    /// Parameters of tools that have nothing to do with conversations.
    ParametersWithoutTalk,
    /// Parameters of tools that have nothing to do with access.
    ParametersWithoutAccess,
}

impl Scope {
    fn named(heading: &str) -> Option<Self> {
        Some(match heading {
            "everywhere" => Self::Everywhere,
            "results and prompts" => Self::Texts,
            "definitions" => Self::Definitions,
            "definitions of tools that only look something up" => Self::DefinitionsWithoutDeeds,
            "definitions of tools that only look something up, and not about access" => {
                Self::DefinitionsWithoutEither
            }
            "definitions of tools that are not about access" => Self::DefinitionsWithoutAccess,
            "values" => Self::Values,
            "names of parameters" => Self::Names,
            "parameters" => Self::Parameters,
            "parameters of tools that are not about conversations" => Self::ParametersWithoutTalk,
            "parameters of tools that are not about access" => Self::ParametersWithoutAccess,
            _ => return None,
        })
    }

    const fn holds(self, place: Place, tool: &Parameters) -> bool {
        match (place, self) {
            (Place::Prose | Place::Literal | Place::Text, Self::Everywhere)
            | (Place::Prose | Place::Literal, Self::Definitions)
            | (Place::Literal, Self::Values)
            | (Place::Text, Self::Texts)
            | (Place::Name, Self::Names)
            | (Place::Parameter, Self::Parameters) => true,
            (Place::Prose, Self::DefinitionsWithoutDeeds) => !tool.about_deeds,
            (Place::Prose, Self::DefinitionsWithoutEither) => !tool.about_deeds && !tool.about_secrets,
            (Place::Prose, Self::DefinitionsWithoutAccess)
            | (Place::Parameter, Self::ParametersWithoutAccess) => !tool.about_secrets,
            (Place::Parameter, Self::ParametersWithoutTalk) => !tool.about_talk,
            _ => false,
        }
    }
}

impl Rules {
    /// Returns the rules of `rules.txt`.
    pub(super) fn get() -> &'static Self {
        static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read().expect("a test reads the rules"));
        &RULES
    }

    fn read() -> Result<Self, Mistake> {
        Self::of(FILE, &Vocabulary::read()?)
    }

    fn of(file: DataFile, vocabulary: &Vocabulary) -> Result<Self, Mistake> {
        let evidence = vocabulary.group("EVIDENCE")?;
        let mut all = Self { in_order: Vec::new(), compounds: Vec::new(), evidence };
        for section in file.sections()? {
            let heading = section.heading;
            for entry in &section.entries {
                if heading.text == "compounds" {
                    all.compounds.push(Compound::read(entry, vocabulary)?);
                } else {
                    let scope = Scope::named(heading.text)
                        .ok_or_else(|| heading.mistake(format!("no texts are `{}`", heading.text)))?;
                    all.in_order.push(Rule::read(entry, scope, vocabulary)?);
                }
            }
        }
        Ok(all)
    }

    /// Returns the rules that apply to texts at `place` in a definition with these parameters.
    pub(super) fn of_place(&self, place: Place, tool: &Parameters) -> impl Iterator<Item = &Rule> {
        self.in_order.iter().filter(move |rule| rule.scope.holds(place, tool))
    }
}

impl Rule {
    /// Reads a rule: `NAME SPAN/SENTENCES: MEANING`, and below it one set per line.
    fn read(entry: &Entry, scope: Scope, vocabulary: &Vocabulary) -> Result<Self, Mistake> {
        let line = entry.line;
        let (head, meaning) = line.split(": ")?;
        let [name, reach] = head.split(' ').collect::<Vec<_>>()[..] else {
            return Err(line.mistake("a rule starts with its name and its reach"));
        };
        let name = super::RULES.into_iter().find(|known| *known == name);
        let name = name.ok_or_else(|| line.mistake("findings have other names"))?;
        let (span, sentences) =
            reach.split_once('/').ok_or_else(|| line.mistake("a reach is CHARACTERS/SENTENCES"))?;
        let (span, sentences) = (number(&line, span)?, number(&line, sentences)?);
        Ok(Self { name, meaning, scope, span, sentences, needs: sets(entry, vocabulary)? })
    }
}

impl Compound {
    /// Reads a compound: `ATOM SPAN`, and below it one set per line.
    fn read(entry: &Entry, vocabulary: &Vocabulary) -> Result<Self, Mistake> {
        let (atom, span) = entry.line.split(" ")?;
        let atom = vocabulary.atom(&entry.line, atom)?;
        Ok(Self { atom, span: number(&entry.line, span)?, needs: sets(entry, vocabulary)? })
    }
}

fn sets(entry: &Entry, vocabulary: &Vocabulary) -> Result<Vec<Atoms>, Mistake> {
    if entry.below.is_empty() {
        return Err(entry.line.mistake("no atoms stand below"));
    }
    entry.below.iter().map(|line| vocabulary.atoms(line, line.text)).collect()
}

fn number(line: &Line, digits: &str) -> Result<usize, Mistake> {
    digits.parse().map_err(|_| line.mistake(format!("`{digits}` is no number")))
}

const FILE: DataFile = DataFile::new("rules.txt", include_str!("rules.txt"));

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &'static str) -> String {
        let file = DataFile::new("rules.txt", text);
        Rules::of(file, &Vocabulary::read().unwrap()).err().unwrap().to_string()
    }

    #[test]
    fn the_rules_can_be_read() {
        assert_eq!(Rules::read().map(|_| ()), Ok(()));
    }

    #[test]
    fn mistakes_are_named_by_their_lines() {
        for (text, expected) in [
            (
                "[everywhere]\nsecret-request 80/0: asks\n  give|gvie",
                "line 3 of rules.txt: there is no atom `gvie`",
            ),
            ("[everywhere]\nsecret-request 80/0: asks", "line 2 of rules.txt: no atoms stand below"),
            ("[everywhere]\n#\nsecret 80/0: asks\n  give", "line 3 of rules.txt: findings have other names"),
            ("[everywhere]\nsecret-request 8o/0: asks\n  give", "line 2 of rules.txt: `8o` is no number"),
            ("[nowhere]\nsecret-request 80/0: asks\n  give", "line 1 of rules.txt: no texts are `nowhere`"),
        ] {
            assert_eq!(mistake(text), expected);
        }
    }
}
