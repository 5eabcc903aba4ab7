//! The rules for all texts, and for what only results and prompts hold.

use super::atom::Atom::*;
use super::rules::{Rule, one};

pub(super) const HIDDEN: &str = "hidden-instruction";
pub(super) const REQUEST: &str = "secret-request";
pub(super) const EXFILTRATION: &str = "exfiltration";
pub(super) const ENCODED: &str = "encoded-instruction";

/// Found in definitions and in texts.
pub(super) const EVERYWHERE: &[Rule] = &[
    Rule {
        name: HIDDEN,
        meaning: "tells the model to ignore its instructions",
        span: 72,
        sentences: 0,
        needs: &[one(&[Ignore]), one(&[Prior, PriorWeak]), one(&[Orders, YourPrompt])],
    },
    Rule {
        name: HIDDEN,
        meaning: "tells the model to set its instructions aside",
        span: 64,
        sentences: 0,
        needs: &[one(&[IgnoreWeak]), one(&[Prior]), one(&[Orders])],
    },
    Rule {
        name: HIDDEN,
        meaning: "tells the model to ignore what it was told",
        span: 80,
        sentences: 0,
        needs: &[one(&[Override])],
    },
    Rule {
        name: HIDDEN,
        meaning: "contains the marks by which models tell who is speaking",
        span: 400,
        sentences: 0,
        needs: &[one(&[ChatToken])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives the model another character, without its limits",
        span: 160,
        sentences: 1,
        needs: &[one(&[Persona]), one(&[PersonaWeak, Ignore, Safeguard, Model, Override, Detour, NewOrders])],
    },
    Rule {
        name: HIDDEN,
        meaning: "frees the model from its limits",
        span: 140,
        sentences: 1,
        needs: &[one(&[PersonaWeak]), one(&[Ignore, IgnoreWeak]), one(&[Orders, Rules, Safeguard])],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for its own instructions",
        span: 56,
        sentences: 0,
        needs: &[one(&[Reveal]), one(&[YourPrompt])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "asks to read secrets and to send them away",
        span: 220,
        sentences: 1,
        needs: &[one(&[SecretFile, Private]), one(&[Take]), one(&[Give]), one(&[Destination])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has the answer carry data to a picture's address",
        span: 400,
        sentences: 2,
        needs: &[one(&[LeakyImage]), one(&[AnswerShape, Give, Silence])],
    },
    Rule {
        name: ENCODED,
        meaning: "asks to decode something and to obey it",
        span: 140,
        sentences: 1,
        needs: &[one(&[Decode]), one(&[Run]), one(&[Blob])],
    },
    Rule {
        name: HIDDEN,
        meaning: "tells the model to ignore its rules",
        span: 60,
        sentences: 0,
        needs: &[one(&[Ignore]), one(&[YourRules, Safety, YourPrompt])],
    },
    Rule {
        name: HIDDEN,
        meaning: "tells the model to ignore what was said",
        span: 56,
        sentences: 0,
        needs: &[one(&[Ignore]), one(&[What]), one(&[Prior])],
    },
    Rule {
        name: HIDDEN,
        meaning: "threatens the model",
        span: 160,
        sentences: 1,
        needs: &[one(&[Threat]), one(&[Give, Take, Danger, Destination, ToolRef])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives orders in a tag of secrecy or authority",
        span: 200,
        sentences: 2,
        needs: &[one(&[SecretTag]), one(&[Take, Give, Tamper, Danger, Run, Silence, Hush])],
    },
    Rule {
        name: HIDDEN,
        meaning: "tells the model to switch its safeguards off",
        span: 56,
        sentences: 0,
        needs: &[one(&[Ignore, IgnoreWeak]), one(&[Safety]), one(&[Whole, Model, Override])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has data stolen",
        span: 100,
        sentences: 0,
        needs: &[
            one(&[Steal]),
            one(&[
                UsersOwn,
                Credential,
                Private,
                Context,
                ContextSoft,
                SecretFile,
                Destination,
                DestinationWord,
            ]),
        ],
    },
];

/// Found in results and prompts.
pub(super) const IN_TEXTS: &[Rule] = &[
    Rule {
        name: HIDDEN,
        meaning: "tells the model to ignore what it was asked",
        span: 60,
        sentences: 0,
        needs: &[one(&[Ignore]), one(&[Prior]), one(&[Rules])],
    },
    Rule {
        name: HIDDEN,
        meaning: "tells the model to ignore its safeguards",
        span: 80,
        sentences: 0,
        needs: &[one(&[Ignore]), one(&[Safeguard]), one(&[Run, Danger])],
    },
    Rule {
        name: HIDDEN,
        meaning: "addresses the model instead of the reader",
        span: 280,
        sentences: 2,
        needs: &[
            one(&[Addressee]),
            one(&[Danger, Speak, Take, Give, Silence, Claim, Reveal, NewOrders, Detour, Run, Deed]),
        ],
    },
    Rule {
        name: HIDDEN,
        meaning: "speaks with the authority of the system",
        span: 240,
        sentences: 1,
        needs: &[one(&[Label]), one(&[Addressee, AddresseeWeak, Claim, Ignore, Silence])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives orders in a tag that stands for authority",
        span: 40,
        sentences: 1,
        needs: &[one(&[PseudoTag]), one(&[Danger, Take, Give, Run, Silence, NewOrders])],
    },
    Rule {
        name: HIDDEN,
        meaning: "speaks in the assistant's place",
        span: 80,
        sentences: 1,
        needs: &[one(&[FakeTurn])],
    },
    Rule {
        name: HIDDEN,
        meaning: "claims that the user has agreed",
        span: 220,
        sentences: 1,
        needs: &[one(&[Claim]), one(&[Danger]), one(&[Addressee, AddresseeWeak, Label])],
    },
    Rule {
        name: HIDDEN,
        meaning: "asks for something and to keep it from the user",
        span: 220,
        sentences: 1,
        needs: &[one(&[Silence]), one(&[Person, Model]), one(&[Danger, Take, Give, Claim])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives the model another task",
        span: 120,
        sentences: 1,
        needs: &[one(&[NewOrders])],
    },
    Rule {
        name: HIDDEN,
        meaning: "leads the model away from its task",
        span: 200,
        sentences: 1,
        needs: &[one(&[Detour]), one(&[Ignore, Addressee, Claim, Persona, Silence])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has private data sent to an address",
        span: 160,
        sentences: 0,
        needs: &[one(&[AllData]), one(&[Give]), one(&[Mail]), one(&[Destination])],
    },
    Rule {
        name: HIDDEN,
        meaning: "wants something done before the model answers",
        span: 120,
        sentences: 0,
        needs: &[one(&[BeforeAnswer]), one(&[ToolRef, Deed, Danger]), one(&[ToolRef, Deed, Address])],
    },
    Rule {
        name: HIDDEN,
        meaning: "tells the model how to behave from here on",
        span: 80,
        sentences: 0,
        needs: &[
            one(&[FromNowOn]),
            one(&[AnswerOnly]),
            one(&[Danger, Speak, Persona, PersonaWeak, Ignore, Give]),
        ],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has secrets sent to an address",
        span: 140,
        sentences: 0,
        needs: &[one(&[UsersOwn]), one(&[Credential, Private]), one(&[Give]), one(&[Destination])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has the answer carry an address",
        span: 140,
        sentences: 0,
        needs: &[one(&[AnswerShape]), one(&[Give]), one(&[Address])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "claims that the user has agreed to sending something",
        span: 200,
        sentences: 1,
        needs: &[one(&[Claim]), one(&[Model]), one(&[Give]), one(&[Destination, Mail])],
    },
];
