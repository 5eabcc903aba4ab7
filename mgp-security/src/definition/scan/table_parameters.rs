//! The rules for parameters, and for what a tool asks for that has nothing to do with what it is for.

use super::atom::Atom::*;
use super::rules::{Rule, one};
use super::table::{HIDDEN, REQUEST};

/// Found in the name and description of a parameter, read together.
pub(super) const IN_PARAMETERS: &[Rule] = &[
    Rule {
        name: HIDDEN,
        meaning: "has a parameter that is hidden from the user",
        span: 140,
        sentences: 1,
        needs: &[one(&[SecretTag]), one(&[Give, Supply, Model, Take, Contents])],
    },
    Rule {
        name: REQUEST,
        meaning: "has a parameter for all that the model knows of the user",
        span: 120,
        sentences: 0,
        needs: &[one(&[InTalk]), one(&[Person]), one(&[Whole])],
    },
    Rule {
        name: REQUEST,
        meaning: "has a parameter filled with secrets from somewhere",
        span: 120,
        sentences: 0,
        needs: &[one(&[Private, SecretFile]), one(&[Supply, Give]), one(&[Contents, Whole, InTalk])],
    },
    Rule {
        name: REQUEST,
        meaning: "has a parameter filled with what was said",
        span: 120,
        sentences: 0,
        needs: &[
            one(&[Context, YourPrompt]),
            one(&[Supply, Give, Take]),
            one(&[Secretly, PseudoTag, SecretTag, Comment]),
        ],
    },
];

/// Found in parameters of tools that have nothing to do with conversations.
pub(super) const UNRELATED_TALK: &[Rule] = &[Rule {
    name: REQUEST,
    meaning: "has a parameter for the conversation or the model's instructions, which the tool is not about",
    span: 160,
    sentences: 1,
    needs: &[one(&[Context, ContextSoft, YourPrompt])],
}];

/// Found in parameters of tools that have nothing to do with access.
pub(super) const UNRELATED_SECRETS: &[Rule] = &[
    Rule {
        name: REQUEST,
        meaning: "has a parameter for a secret of the user's, which the tool is not about",
        span: 120,
        sentences: 1,
        needs: &[one(&[Credential]), one(&[UsersOwn])],
    },
    Rule {
        name: REQUEST,
        meaning: "has a parameter for secrets, which the tool is not about",
        span: 120,
        sentences: 1,
        needs: &[
            one(&[SecretFile, NamedFile, Private]),
            one(&[Take, Give, Supply, Contents, Whole, UsersOwn]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "has a parameter for a file of secrets, which the tool is not about",
        span: 120,
        sentences: 1,
        needs: &[one(&[SecretFile])],
    },
];

/// Found in prose of tools that have nothing to do with access.
pub(super) const UNRELATED_REQUESTS: &[Rule] = &[Rule {
    name: REQUEST,
    meaning: "asks the model for secrets, which the tool is not about",
    span: 80,
    sentences: 0,
    needs: &[one(&[Private, SecretFile]), one(&[Give, Take])],
}];

/// Found in prose of tools that only look something up.
pub(super) const UNRELATED_DEEDS: &[Rule] = &[
    Rule {
        name: HIDDEN,
        meaning: "has something done besides that the tool is not for",
        span: 120,
        sentences: 0,
        needs: &[one(&[After, BeforeAnswer]), one(&[Change]), one(&[Danger, Give, Alter])],
    },
    Rule {
        name: REQUEST,
        meaning: "asks for the user's work, which the tool is not about",
        span: 120,
        sentences: 0,
        needs: &[one(&[Goods, Personal, AllData]), one(&[PropertyRef])],
    },
    Rule {
        name: HIDDEN,
        meaning: "has something done that the tool is not for",
        span: 140,
        sentences: 0,
        needs: &[one(&[After, BeforeAnswer, Must, Timing]), one(&[Affair])],
    },
    Rule {
        name: HIDDEN,
        meaning: "has something done to somebody else's data, which the tool is not for",
        span: 140,
        sentences: 0,
        needs: &[
            one(&[After, BeforeAnswer]),
            one(&[Deed]),
            one(&[Destination, Address, Danger]),
            one(&[Specific, SecretFile, Give]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks for a file of settings, which the tool is not about",
        span: 140,
        sentences: 1,
        needs: &[one(&[ConfigFile, Credential, Personal]), one(&[PropertyRef])],
    },
    Rule {
        name: REQUEST,
        meaning: "has the user's particulars passed on, which the tool is not about",
        span: 120,
        sentences: 0,
        needs: &[one(&[Personal]), one(&[Take]), one(&[Give])],
    },
];
