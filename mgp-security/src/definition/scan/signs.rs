//! The signs of orders to a model, and the rules that make findings of them.
//!
//! Each sign is one regular expression. A sentence breaks a rule if it has one sign of each set of the rule. A sign is
//! searched for only when a rule needs it, and at most once in each sentence. A single automaton for all signs would have
//! millions of states.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use regex::bytes::{Regex, RegexBuilder};

use super::FLAGS;
use crate::data_file::{Section, sections, split, with_blanks};
use crate::definition::fold::FoldedText;
use crate::named::{Named as _, named};

named! {
    /// The place of a text, by its name in `rules.txt`: a text that is harmless in one place may not be in another.
    pub(super) enum TextPlace {
        /// A description, default, example or another text of a definition.
        "definitions" => Definition,
        /// A result or prompt.
        "texts" => Text,
        /// The name of a parameter, split into words.
        "names" => Name,
        /// The name of a parameter, together with its description.
        "parameters" => Parameter,
        /// A definition or text, with its letters turned.
        "turned" => Turned,
    }
}

/// The compiled signs, which take megabytes: they are freed when the last text that needs them has been read.
pub(super) struct Signs {
    expressions: Vec<Regex>,
    rules: Vec<ScanRule>,
    /// The sign of a sentence about attacks: an order in quotes is an example there.
    about_attacks: SignSet,
    /// The sign of a warning not to obey what data say, which is no order itself.
    caution: SignSet,
}

/// A set of signs, one bit for each.
type SignSet = u64;

struct ScanRule {
    /// The class of the finding.
    name: &'static str,
    /// The meaning of the finding, for an operator.
    meaning: &'static str,
    places: Vec<&'static str>,
    /// The sets of signs of which a sentence must have one each.
    needs: Vec<SignSet>,
}

/// A rule that a sentence breaks.
pub(super) struct BrokenRule<'t> {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) sentence: &'t str,
}

static COMPILED: Mutex<Weak<Signs>> = Mutex::new(Weak::new());

impl Signs {
    /// Returns the signs, compiled now unless somebody still holds them.
    pub(super) fn get() -> Arc<Self> {
        let mut compiled = COMPILED.lock();
        compiled.upgrade().unwrap_or_else(|| {
            let signs = Arc::new(Self::compile());
            *compiled = Arc::downgrade(&signs);
            signs
        })
    }

    fn compile() -> Self {
        let signs = sections(SIGNS);
        assert!(signs.len() <= SignSet::BITS as usize, "each sign has a bit");
        let set_of = |names: &str| -> SignSet {
            let bit = |name| signs.iter().position(|sign| sign.heading == name).map(|at| 1 << at);
            let bits = names
                .split(' ')
                .map(|name| bit(name).unwrap_or_else(|| panic!("no sign is called `{name}`")));
            bits.fold(0, |set, bit: SignSet| set | bit)
        };
        let mut rules = Vec::new();
        for section in sections(RULES) {
            for entry in &section.entries {
                let (name, meaning) = split(entry.line, ": ");
                let name = FLAGS.into_iter().find(|known| *known == name).expect("findings have this name");
                let needs = entry.below.iter().map(|names| set_of(names)).collect();
                rules.push(ScanRule { name, meaning, places: section.heading.split(", ").collect(), needs });
            }
        }
        Self {
            expressions: signs.iter().map(expression).collect(),
            rules,
            about_attacks: set_of("about"),
            caution: set_of("caution"),
        }
    }

    /// Returns the first rule that a sentence of `folded` breaks in this place, except for sentences that `judged` has, too.
    pub(super) fn broken_rule<'t>(
        &self,
        folded: &'t FoldedText,
        place: TextPlace,
        judged: Option<&FoldedText>,
    ) -> Option<BrokenRule<'t>> {
        let rules: Vec<_> = self.rules.iter().filter(|rule| rule.places.contains(&place.name())).collect();
        folded.sentences().find_map(|sentence| {
            let mut seen = SeenSigns { signs: self, sentence, tried: 0, found: 0 };
            let broken = rules.iter().find(|rule| rule.needs.iter().all(|set| seen.has_one_of(*set)))?;
            let is_example = sentence.contains(['"', '`']) && seen.has_one_of(self.about_attacks);
            let is_judged = judged.is_some_and(|judged| judged.text.contains(sentence.trim()));
            let is_harmless = is_example || is_judged || seen.has_one_of(self.caution);
            (!is_harmless).then_some(BrokenRule { name: broken.name, meaning: broken.meaning, sentence })
        })
    }
}

/// The signs that were looked for in a sentence so far.
struct SeenSigns<'s> {
    signs: &'s Signs,
    sentence: &'s str,
    tried: SignSet,
    found: SignSet,
}

impl SeenSigns<'_> {
    fn has_one_of(&mut self, set: SignSet) -> bool {
        let mut untried = set & !self.tried;
        while self.found & set == 0 && untried != 0 {
            let sign = untried.trailing_zeros();
            untried &= untried - 1;
            self.tried |= 1 << sign;
            if self.signs.expressions[sign as usize].is_match(self.sentence.as_bytes()) {
                self.found |= 1 << sign;
            }
        }
        self.found & set != 0
    }
}

/// Compiles the lines of a sign into one expression.
fn expression(sign: &Section) -> Regex {
    let lines =
        sign.entries.iter().map(|entry| match (entry.line.strip_prefix('/'), entry.line.strip_suffix('*')) {
            (Some(free), _) => with_blanks(free),
            (None, Some(stem)) => format!(r"\b{{start-half}}(?:{stem})"),
            (None, None) => format!(r"\b{{start-half}}(?:{})\b{{end-half}}", entry.line),
        });
    let all = lines.collect::<Vec<_>>().join("|");
    let expression = RegexBuilder::new(&all).unicode(false).dfa_size_limit(MAX_AUTOMATON).build();
    expression.unwrap_or_else(|error| panic!("`{}`: {error}", sign.heading))
}

/// The largest number of bytes that the automaton of a sign takes.
const MAX_AUTOMATON: usize = 512 << 10;

const SIGNS: &str = include_str!("signs.txt");
const RULES: &str = include_str!("rules.txt");

/// Returns the text that says by what signs and rules texts are judged: with another one, a verdict may be another.
pub(super) fn rule_book() -> [&'static str; 2] {
    [SIGNS, RULES]
}
