//! Atoms that are made of several words close together, in any order of any language.

use super::atom::Atom::{self, *};
use super::atom::{Atoms, Hit};
use super::rules::{is_within, one, shortest};
use crate::definition::fold::Folded;

/// Adds the atoms that `hits`, in the order of their starts, make together.
pub(super) fn compose(folded: &Folded, hits: &mut Vec<Hit>) {
    for compound in COMPOUNDS {
        let made: Vec<_> = shortest(compound.needs, hits)
            .filter(|(first, end, sentences)| {
                *sentences == 0 && is_within(&folded.text, first.start, *end, compound.span)
            })
            .map(|(first, end, _)| Hit {
                atom: compound.atom,
                start: first.start,
                end,
                sentence: first.sentence,
            })
            .collect();
        hits.extend(made);
        hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
    }
}

struct Compound {
    atom: Atom,
    span: usize,
    needs: &'static [Atoms],
}

const COMPOUNDS: &[Compound] = &[
    Compound { atom: Hush, span: 48, needs: &[one(&[Not]), one(&[Tell]), one(&[Person, This])] },
    Compound { atom: ContextSoft, span: 32, needs: &[one(&[Talk]), one(&[Whole])] },
    Compound { atom: AddresseeWeak, span: 28, needs: &[one(&[Model]), one(&[Must])] },
    Compound { atom: Tamper, span: 48, needs: &[one(&[Alter]), one(&[Payee])] },
];
