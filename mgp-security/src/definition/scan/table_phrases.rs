//! The rules over turns of phrase: who is spoken to, which orders follow, and what is to be kept from whom.

use super::atom::Atom::*;
use super::atom::Atoms;
use super::rules::{Rule, one};
use super::table::{EXFILTRATION, HIDDEN, REQUEST};
use super::table_definitions::CROSS;

/// Found in definitions and in texts.
pub(super) const PHRASES_EVERYWHERE: &[Rule] = &[
    Rule {
        name: HIDDEN,
        meaning: "gives the model a part to play that has no rules",
        span: 150,
        sentences: 1,
        needs: &[one(&[Freedom]), one(&[Role, Label, Authority, PseudoTag])],
    },
    Rule {
        name: HIDDEN,
        meaning: "puts something above the user or the system",
        span: 200,
        sentences: 0,
        needs: &[one(&[Precedence])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "contains a script that sends cookies away",
        span: 400,
        sentences: 4,
        needs: &[one(&[ScriptLeak])],
    },
    Rule {
        name: HIDDEN,
        meaning: "has pieces of a text put together and obeyed",
        span: 200,
        sentences: 1,
        needs: &[one(&[Fragments])],
    },
    Rule {
        name: HIDDEN,
        meaning: "ends the text it stands in and goes on with orders",
        span: 240,
        sentences: 3,
        needs: &[one(&[EndMark]), one(&[Deed, NewOrders, Persona, Role, Ignore, Vocative])],
    },
    Rule {
        name: HIDDEN,
        meaning: "declares a task to be over, or another one to come first",
        span: 240,
        sentences: 2,
        needs: &[one(&[TaskShift]), one(&[Deed, Ignore, YourPrompt, Persona]), ORDERED],
    },
    Rule {
        name: HIDDEN,
        meaning: "speaks to the model and gives it orders",
        span: 240,
        sentences: 1,
        needs: &[one(&[Vocative]), one(&[Deed, Silence, Hush, Ignore, Claim, Speak, Cover, Run])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives orders in the marks of another turn",
        span: 160,
        sentences: 1,
        needs: &[one(&[TurnMark]), one(&[Deed, Take, Give, YourPrompt, Context, Ignore, Silence, Claim])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has the answer carry data to an address",
        span: 400,
        sentences: 1,
        needs: &[one(&[LeakyImage]), one(&[AnswerShape, Give, Silence, Talk])],
    },
];

/// Found in results and prompts.
pub(super) const PHRASES_IN_TEXTS: &[Rule] = &[
    Rule {
        name: HIDDEN,
        meaning: "speaks to the model and gives it orders",
        span: 160,
        sentences: 0,
        needs: &[one(&[ForeignVocative]), one(&[Deed, Danger, Give, Silence])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives orders to be kept from others",
        span: 160,
        sentences: 1,
        needs: &[one(&[Cover]), one(&[Deed])],
    },
    Rule {
        name: HIDDEN,
        meaning: "speaks from a hidden place and gives orders",
        span: 120,
        sentences: 0,
        needs: &[one(&[PseudoTag, SecretTag]), one(&[Speak, Deed])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives orders with the authority of the system",
        span: 110,
        sentences: 0,
        needs: &[one(&[Label, PseudoTag, SecretTag]), one(&[Deed])],
    },
    Rule {
        name: HIDDEN,
        meaning: "notes something for the model to do on the user's behalf",
        span: 170,
        sentences: 1,
        needs: &[one(&[Todo]), one(&[Deed]), one(&[Specific])],
    },
    Rule {
        name: HIDDEN,
        meaning: "notes something for the model to do in the user's affairs",
        span: 90,
        sentences: 0,
        needs: &[one(&[Todo]), one(&[Affair])],
    },
    Rule {
        name: HIDDEN,
        meaning: "claims that the user has agreed, and gives orders",
        span: 180,
        sentences: 1,
        needs: &[one(&[Claim]), one(&[Deed]), one(&[Person])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives orders and keeps them from the user",
        span: 220,
        sentences: 2,
        needs: &[one(&[Silence, Cover]), one(&[Person, Model]), one(&[Deed])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "wants secrets from the model",
        span: 180,
        sentences: 0,
        needs: &[
            one(&[AddresseeWeak, Vocative, Addressee]),
            one(&[Give, Supply, Reveal, Take]),
            one(&[Credential, Private, SecretFile, ConfigFile, Context, ContextSoft]),
            one(&[UsersOwn, Address, Whole, Secretly]),
        ],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has the answer carry what the user said",
        span: 160,
        sentences: 0,
        needs: &[
            one(&[Give]),
            one(&[Address]),
            one(&[UsersOwn, Talk]),
            one(&[AnswerShape, Give]),
            one(&[Whole]),
        ],
    },
];

/// Found in prose of definitions.
pub(super) const PHRASES_IN_DEFINITIONS: &[Rule] = &[
    Rule {
        name: HIDDEN,
        meaning: "keeps a step from the user",
        span: 200,
        sentences: 0,
        needs: &[one(&[Cover])],
    },
    Rule {
        name: HIDDEN,
        meaning: "has what the tool returns obeyed",
        span: 240,
        sentences: 0,
        needs: &[one(&[ObeyOutput])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives orders in a vendor's or administrator's name",
        span: 200,
        sentences: 1,
        needs: &[
            one(&[Authority]),
            one(&[Deed, Silence, Hush, YourPrompt, Claim, Context, Freedom, Personal, Private]),
            one(&[Model, Give, GiveWeak, Parameter, Demand, Danger, Destination, Take]),
        ],
    },
    Rule {
        name: HIDDEN,
        meaning: "has the model pass something on in somebody's name",
        span: 200,
        sentences: 1,
        needs: &[
            one(&[Authority]),
            one(&[Model, AddresseeWeak, Credential]),
            one(&[Destination, PropertyRef, UsersOwn, Goods]),
            one(&[Give, GiveWeak, Supply, Must, PropertyRef]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks for data of the user's with somebody else's authority",
        span: 200,
        sentences: 1,
        needs: &[
            one(&[PseudoTag, Label, SecretTag, Authority, Vocative, Addressee, Comment]),
            one(&[PropertyRef]),
            one(&[Give, Supply, Reveal]),
            one(&[UsersOwn, Person, Talk, Context, ContextSoft, Private, Credential, Goods]),
        ],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has data passed on and keeps quiet about it",
        span: 240,
        sentences: 1,
        needs: &[
            one(&[Silence, Secretly]),
            one(&[Give, Take]),
            one(&[Destination, SecretFile, Private, Context, ContextSoft]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "has a parameter filled with secrets or with what was said",
        span: 120,
        sentences: 1,
        needs: &[one(&[SecretFile, Private, Context, ContextSoft, YourPrompt]), one(&[PropertyRef])],
    },
    Rule {
        name: HIDDEN,
        meaning: "speaks in the marks of another turn",
        span: 160,
        sentences: 1,
        needs: &[one(&[TurnMark]), one(&[Role])],
    },
    Rule {
        name: HIDDEN,
        meaning: "gives orders in a tag or label of authority",
        span: 140,
        sentences: 0,
        needs: &[one(&[Label, PseudoTag, SecretTag, TurnMark]), one(&[Deed])],
    },
    Rule {
        name: REQUEST,
        meaning: "claims consent or privileges and gives orders",
        span: 180,
        sentences: 1,
        needs: &[
            one(&[Persona, PersonaWeak, Role]),
            one(&[Claim, Private, SecretFile]),
            one(&[Deed, Give, Reveal]),
        ],
    },
    Rule {
        name: HIDDEN,
        meaning: "has something done besides that deletes or replaces files of secrets",
        span: 180,
        sentences: 0,
        needs: &[one(&[SecretFile]), one(&[After, Timing]), one(&[Danger])],
    },
    Rule {
        name: CROSS,
        meaning: "has another tool called, for somebody else's address",
        span: 200,
        sentences: 0,
        needs: &[one(&[After]), one(&[ToolRef]), one(&[Danger, Run]), one(&[Mail, Destination, Account])],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has the user's work sent away",
        span: 180,
        sentences: 0,
        needs: &[
            one(&[Goods]),
            one(&[Give, GiveWeak]),
            one(&[Destination, Mail]),
            one(&[After, Model, Demand, Must]),
        ],
    },
    Rule {
        name: EXFILTRATION,
        meaning: "has the user's work sent away",
        span: 140,
        sentences: 0,
        needs: &[one(&[Goods]), one(&[Give]), one(&[Destination]), one(&[Deed])],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for the conversation or its own instructions",
        span: 120,
        sentences: 0,
        needs: &[one(&[Context, ContextSoft, YourPrompt]), one(&[Give, Supply, Take]), one(&[Parameter])],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for secrets as a parameter",
        span: 120,
        sentences: 0,
        needs: &[one(&[Private, SecretFile]), one(&[Give, Supply, Take]), one(&[PropertyRef])],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for what it knows of the user",
        span: 160,
        sentences: 0,
        needs: &[
            one(&[Personal, Private, Credential]),
            one(&[UsersOwn, Person]),
            one(&[PropertyRef, InTalk]),
        ],
    },
    Rule {
        name: REQUEST,
        meaning: "asks the model for what it has seen",
        span: 120,
        sentences: 0,
        needs: &[one(&[Private, Credential]), one(&[InTalk]), one(&[Whole, Demand])],
    },
    Rule {
        name: HIDDEN,
        meaning: "has commands run and their output passed on",
        span: 160,
        sentences: 0,
        needs: &[
            one(&[Run]),
            one(&[Give, Supply]),
            one(&[PropertyRef, ToThisTool]),
            one(&[Private, AllData, Contents]),
        ],
    },
    Rule {
        name: HIDDEN,
        meaning: "asks to pass something on and to keep quiet about it",
        span: 160,
        sentences: 0,
        needs: &[
            one(&[Hush]),
            one(&[Contents, Credential, Private, Context]),
            one(&[Give, Supply, Model, Person]),
        ],
    },
    Rule {
        name: CROSS,
        meaning: "changes recipients",
        span: 130,
        sentences: 0,
        needs: &[one(&[Tamper]), one(&[Account, Mail]), one(&[Must, Demand, WhenTool])],
    },
    Rule {
        name: CROSS,
        meaning: "changes what other tools do",
        span: 170,
        sentences: 1,
        needs: &[
            one(&[Tamper]),
            one(&[ToolRef, OtherTools]),
            one(&[Must]),
            one(&[Give, Danger, Alter, AllData]),
        ],
    },
    Rule {
        name: CROSS,
        meaning: "has the arguments or results of other tools",
        span: 140,
        sentences: 0,
        needs: &[one(&[OtherTools]), one(&[ToThisTool]), one(&[Give]), one(&[TheData, AllData])],
    },
    Rule {
        name: CROSS,
        meaning: "has other tools use an address",
        span: 180,
        sentences: 0,
        needs: &[one(&[OtherTools]), one(&[Alter, Give]), one(&[Mail, Account])],
    },
];

/// Found besides in defaults, examples and titles.
pub(super) const PHRASES_IN_LITERALS: &[Rule] = &[
    Rule {
        name: HIDDEN,
        meaning: "gives the model orders where a value belongs",
        span: 100,
        sentences: 0,
        needs: &[
            one(&[Ignore]),
            one(&[Prior, YourRules, Person, Model]),
            one(&[Rules, Orders, Person, Deed]),
        ],
    },
    Rule {
        name: HIDDEN,
        meaning: "tells the assistant what to do where a value belongs",
        span: 100,
        sentences: 0,
        needs: &[one(&[AddresseeWeak, Vocative]), one(&[ToolRef, Deed, Danger])],
    },
];

/// What makes a shift of the task an order.
const ORDERED: Atoms = one(&[
    Specific, Affair, Demand, Must, Model, Person, Danger, Give, Ignore, Reveal, NewOrders, Label, PseudoTag,
]);
