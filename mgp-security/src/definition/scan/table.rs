//! The rules.

use super::atom::Atom::*;
use super::rules::{Rule, SECRET, one};

const HIDDEN: &str = "hidden-instruction";
const REQUEST: &str = "secret-request";
const CROSS: &str = "cross-tool";
const EXFILTRATION: &str = "exfiltration";

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
        name: "encoded-instruction",
        meaning: "asks to decode something and to obey it",
        span: 140,
        sentences: 1,
        needs: &[one(&[Decode]), one(&[Run]), one(&[Blob])],
    },
];

/// Found in prose of definitions.
pub(super) const IN_DEFINITIONS: &[Rule] = &[
    Rule {
        name: REQUEST,
        meaning: "asks the model for a file of secrets",
        span: 180,
        sentences: 0,
        needs: &[
            one(&[SecretFile]),
            one(&[Take, Give]),
            one(&[
                Timing,
                Demand,
                Parameter,
                Contents,
                Silence,
                Stealth,
                PseudoTag,
                Label,
                Addressee,
                AddresseeWeak,
                Person,
                Address,
                Comment,
            ]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for a file of secrets, and not to talk about it",
        span: 320,
        sentences: 2,
        needs: &[
            one(&[SecretFile, ConfigFile]),
            one(&[Take, Give]),
            one(&[Silence, Stealth, Destination, PseudoTag, Label, Addressee, AddresseeWeak, Comment]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks for the contents of a file of secrets",
        span: 90,
        sentences: 0,
        needs: &[one(&[SecretFile]), one(&[Contents])],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model to read secrets and to pass them on",
        span: 220,
        sentences: 0,
        needs: &[
            SECRET,
            one(&[Take]),
            one(&[Give, GiveWeak]),
            one(&[Parameter, Destination, Silence, Stealth]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model to pass on what is in secrets",
        span: 120,
        sentences: 0,
        needs: &[one(&[SecretFile, ConfigFile, Private, Context]), one(&[Contents]), one(&[Give])],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for a secret of the user's",
        span: 160,
        sentences: 0,
        needs: &[one(&[UsersOwn]), one(&[Credential]), one(&[Contents]), one(&[Give])],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model to find a secret of the user's and to pass it on",
        span: 200,
        sentences: 0,
        needs: &[
            one(&[UsersOwn]),
            one(&[Credential]),
            one(&[Take]),
            one(&[Give, GiveWeak]),
            one(&[Parameter]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for secrets or for the conversation in hidden or authoritative words",
        span: 260,
        sentences: 1,
        needs: &[
            one(&[Private, Context, ContextSoft, SecretFile, ConfigFile]),
            one(&[Give, Take]),
            one(&[Addressee, AddresseeWeak, Label, PseudoTag, Comment, Silence, Stealth]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for a secret of the user's in hidden or authoritative words",
        span: 260,
        sentences: 1,
        needs: &[
            one(&[UsersOwn]),
            one(&[Credential]),
            one(&[Give, Take]),
            one(&[Destination, Addressee, AddresseeWeak, Label, PseudoTag, Comment, Silence, Stealth]),
        ],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has secrets or the conversation sent away",
        span: 220,
        sentences: 0,
        needs: &[one(&[Private, Context, ContextSoft, SecretFile]), one(&[Give]), one(&[Destination])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has data sent away along with the work of tools",
        span: 200,
        sentences: 0,
        needs: &[
            one(&[AllData]),
            one(&[Give]),
            one(&[Destination]),
            one(&[Timing, Demand, Silence, Stealth, AddresseeWeak, Addressee]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for the conversation",
        span: 200,
        sentences: 1,
        needs: &[one(&[Context]), one(&[Give]), one(&[Parameter, Timing, OtherTools, OnlyThis, Destination])],
    },
    Rule {
        name: HIDDEN,
        meaning: "asks for something and to keep it from the user",
        span: 280,
        sentences: 2,
        needs: &[
            one(&[Silence]),
            one(&[Take, Give, GiveWeak, Danger, Run]),
            one(&[Person, Addressee, AddresseeWeak, PseudoTag, Label, SecretFile, Private, Context]),
        ],
    },
    Rule {
        name: HIDDEN,
        meaning: "asks for something to be done in secret",
        span: 160,
        sentences: 0,
        needs: &[
            one(&[Stealth]),
            one(&[Give, Take]),
            one(&[Context, ContextSoft, Private, SecretFile, ConfigFile, AllData, Destination, OtherTools]),
        ],
    },
    Rule {
        name: CROSS,
        meaning: "turns the model against the tools of other servers",
        span: 200,
        sentences: 0,
        needs: &[one(&[OnlyThis])],
    },
    Rule {
        name: CROSS,
        meaning: "changes what other tools are to do",
        span: 240,
        sentences: 1,
        needs: &[
            one(&[ToolRef, OtherTools]),
            one(&[Tamper]),
            one(&[WhenTool, Mail, Silence, Destination, Timing]),
        ],
    },
    Rule {
        name: CROSS,
        meaning: "has other tools send to an address",
        span: 240,
        sentences: 1,
        needs: &[one(&[ToolRef, OtherTools]), one(&[WhenTool, Timing, Demand]), one(&[Give]), one(&[Mail])],
    },
    Rule {
        name: HIDDEN,
        meaning: "has the model run a script from the net",
        span: 260,
        sentences: 1,
        needs: &[one(&[PipedShell]), one(&[Run, Take, Give, Demand, Timing])],
    },
    Rule {
        name: HIDDEN,
        meaning: "hides instructions in a comment",
        span: 240,
        sentences: 2,
        needs: &[
            one(&[Comment]),
            one(&[Take, Give, Run, Silence, Ignore, Danger]),
            one(&[
                SecretFile,
                ConfigFile,
                Private,
                Context,
                ContextSoft,
                Model,
                Addressee,
                Silence,
                Ignore,
                Parameter,
                OtherTools,
                Destination,
            ]),
        ],
    },
    Rule {
        name: HIDDEN,
        meaning: "speaks to the model with somebody else's authority",
        span: 280,
        sentences: 2,
        needs: &[
            one(&[Label, PseudoTag, Addressee]),
            one(&[SecretFile, Silence, Claim, Ignore, OnlyThis, AddresseeWeak, Stealth]),
        ],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives the model another task",
        span: 240,
        sentences: 1,
        needs: &[
            one(&[NewOrders, Detour]),
            one(&[Ignore, Silence, SecretFile, Private, Context, Addressee, Claim, Persona]),
        ],
    },
];

/// Found besides in defaults, examples and values to choose from.
pub(super) const IN_LITERALS: &[Rule] = &[
    Rule {
        name: REQUEST,
        meaning: "asks the model for secrets where a value belongs",
        span: 200,
        sentences: 1,
        needs: &[
            one(&[Take, Give]),
            one(&[SecretFile, ConfigFile, Private, Context, ContextSoft, Credential]),
            one(&[Timing, Demand, PseudoTag, Addressee, Label]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for a file of secrets where a value belongs",
        span: 200,
        sentences: 1,
        needs: &[one(&[Take, Give]), one(&[SecretFile])],
    },
];

/// Found in the names of parameters.
pub(super) const IN_NAMES: &[Rule] = &[Rule {
    name: REQUEST,
    meaning: "asks the model for secrets by the name of a parameter",
    span: 120,
    sentences: 1,
    needs: &[
        one(&[Contents]),
        one(&[Take, Give]),
        one(&[NamedFile, Private, Credential, Context, ContextSoft]),
    ],
}];

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
            one(&[Danger, Take, Give, Silence, Claim, Reveal, NewOrders, Detour, Run]),
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
];
