use std::ops::ControlFlow;

use super::analysis::Analyser;

/// The words that are searched for, each once, with how much each of them says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Words {
    terms: Vec<Term>,
}

/// A word as the index has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub(crate) text: Box<str>,
    pub(crate) weight: f32,
}

impl Words {
    /// The words of a text. Of a long one the first count.
    pub(crate) fn of(text: &str) -> Self {
        let mut terms: Vec<Term> = Vec::new();
        Analyser::new().words(text, &mut |word, weight| {
            if !terms.iter().any(|term| *term.text == *word) {
                terms.push(Term { text: word.into(), weight });
            }
            if terms.len() == MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        Self { terms }
    }

    pub(crate) const fn len(&self) -> usize {
        self.terms.len()
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }
}

/// More words than this do not make clearer what is looked for.
const MOST: usize = 64;
