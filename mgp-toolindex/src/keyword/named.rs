//! Search by the names of tools.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use super::KeywordReader;
use super::similar::FuzzyMatcher;
use crate::slot::Slot;
use crate::text::{NameCandidate, called};

/// The number of names of a part that are looked at in each way.
const MAX_ROUGH: usize = 128;

/// The bytes of a beginning at least; a shorter one tells nothing.
const SHORTEST_BEGINNING: usize = 3;

/// The exactness of a name of which almost nothing was given.
const BEGINNING: f32 = 0.5;

/// The exactness of a similar name at most, and of a whole name by its beginning.
const ROUGH: f32 = 0.95;

impl KeywordReader {
    /// Returns the tools that are called by a text, or nearly so, the most exact first; 1 is a name as it is. Of a
    /// sentence the name has to be a good part, unless it is spelled as names are.
    pub(crate) fn named(
        &self,
        text: &str,
        limit: usize,
        fits: &mut dyn FnMut(Slot) -> bool,
    ) -> Vec<(Slot, f32)> {
        let mut matches = Vec::new();
        for called in called(text) {
            let before = matches.len();
            self.exactly(&called, &mut matches);
            if called.roughly && matches.len() == before {
                self.roughly(&called, &mut matches);
            }
        }
        matches.sort_by(|a, b| b.exact.total_cmp(&a.exact));
        let mut found: HashMap<Slot, f32, RandomState> = HashMap::default();
        for one in &matches {
            if found.len() >= limit {
                break;
            }
            self.bearers(one, limit, &mut found, fits);
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }

    fn exactly<'a>(&'a self, called: &NameCandidate, matches: &mut Vec<Match<'a>>) {
        for (part, opened) in self.parts.iter().enumerate() {
            for names in [&opened.ids, &opened.names] {
                // An index in memory can always be read.
                if let Ok(Some(term)) = names.terms().get(&called.name) {
                    matches.push(Match { part, names, term, exact: called.sure });
                }
            }
        }
    }

    /// Adds names that begin with the text, and similar names.
    #[expect(clippy::cast_precision_loss, reason = "short names")]
    fn roughly<'a>(&'a self, called: &NameCandidate, matches: &mut Vec<Match<'a>>) {
        let name = called.name.as_bytes();
        let similar = FuzzyMatcher::to(&called.name);
        for (part, opened) in self.parts.iter().enumerate() {
            let names = &opened.names;
            let mut left = MAX_ROUGH;
            let beginning = names.terms().range().ge(name).into_stream().ok();
            if let Some(mut terms) = beginning.filter(|_| name.len() >= SHORTEST_BEGINNING) {
                while left > 0 && terms.advance() && terms.key().starts_with(name) {
                    left -= 1;
                    let share = name.len() as f32 / terms.key().len() as f32;
                    let exact = called.sure * (BEGINNING + (ROUGH - BEGINNING) * share);
                    matches.push(Match { part, names, term: terms.value().clone(), exact });
                }
            }
            let Some(similar) = &similar else { continue };
            let Ok(mut terms) = names.terms().search(similar).into_stream() else { continue };
            let mut left = MAX_ROUGH;
            while left > 0 && terms.advance() {
                left -= 1;
                let Some(changes) = similar.changes(terms.key()) else { continue };
                let exact = called.sure * ROUGH * (1.0 - changes as f32 / name.len() as f32);
                matches.push(Match { part, names, term: terms.value().clone(), exact });
            }
        }
    }

    fn bearers(
        &self,
        one: &Match<'_>,
        limit: usize,
        found: &mut HashMap<Slot, f32, RandomState>,
        fits: &mut dyn FnMut(Slot) -> bool,
    ) {
        let docs = one.names.read_block_postings_from_terminfo(&one.term, IndexRecordOption::Basic);
        let Ok(mut docs) = docs else { return };
        while !docs.docs().is_empty() {
            for slot in docs.docs().iter().filter_map(|doc| self.slot(one.part, *doc)) {
                if found.len() == limit {
                    return;
                }
                if let Entry::Vacant(vacant) = found.entry(slot)
                    && fits(slot)
                {
                    vacant.insert(one.exact);
                }
            }
            docs.advance();
        }
    }
}

/// A name that tools of a part have.
struct Match<'a> {
    part: usize,
    names: &'a InvertedIndexReader,
    term: TermInfo,
    exact: f32,
}
