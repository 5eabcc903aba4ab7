//! What words stand for, whatever the language.

/// What a word or phrase stands for. Findings come from several of them close together, hardly ever from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Atom {
    /// To ignore, to forget.
    Ignore,
    /// To override, to skip: what honest texts do, too.
    IgnoreWeak,
    /// Previous, above.
    Prior,
    /// Your, existing, all.
    PriorWeak,
    /// Instructions, prompts, directives.
    Orders,
    /// Requests and rules, which are ignored in honest texts, too.
    Rules,
    /// Safety, filters, restrictions.
    Safeguard,
    /// Rules of safety, in words that mean nothing else.
    Safety,
    /// The rules that the reader has.
    YourRules,
    /// What was written or said.
    What,
    /// Ignoring instructions, in one phrase.
    Override,
    /// New, real or hidden tasks for the reader.
    NewOrders,
    /// Phrases that lead away from a task, in honest texts, too.
    Detour,
    /// Another character or mode for the model.
    Persona,
    /// A mode or freedom that programs have, too.
    PersonaWeak,
    /// A file that holds secrets and that hardly any tool is about.
    SecretFile,
    /// A file that may hold secrets and that many tools read.
    ConfigFile,
    /// Either of these as it is spelled in a name, without its punctuation.
    NamedFile,
    /// Secrets that are nobody's business but their owner's.
    Private,
    /// Keys, tokens, passwords: what many tools ask for.
    Credential,
    /// The user's.
    UsersOwn,
    /// The conversation, the system prompt, what other tools returned.
    Context,
    /// The same in words that tools for conversations use, too.
    ContextSoft,
    /// The chat, the conversation, messages.
    Talk,
    /// All of something, word for word.
    Whole,
    /// Where a conversation is looked through for something.
    InTalk,
    /// The reader's own prompt.
    YourPrompt,
    /// To read, to collect.
    Take,
    /// To pass, to send.
    Give,
    /// To return, to save: what tools do.
    GiveWeak,
    /// To provide, to fill in: what parameters are for.
    Supply,
    /// To reveal, to repeat.
    Reveal,
    /// The content of something.
    Contents,
    /// All results, every message.
    AllData,
    /// The results, the data at hand.
    TheData,
    /// Not to mention something.
    Silence,
    /// Not, never, without.
    Not,
    /// To tell, to show.
    Tell,
    /// This, it.
    This,
    /// Not telling, in loose words: made of the three before.
    Hush,
    /// Quietly, secretly.
    Stealth,
    /// The same, in words of which honest tools have no use.
    Secretly,
    /// The user.
    Person,
    /// The assistant.
    Model,
    /// A text addressed to the model that reads it.
    Addressee,
    /// What the assistant must do.
    AddresseeWeak,
    /// Must, always, required.
    Demand,
    /// Must, has to.
    Must,
    /// Penalties for the model.
    Threat,
    /// Before using, first, on every call, also.
    Timing,
    /// Into a parameter.
    Parameter,
    /// Other tools, other servers.
    OtherTools,
    /// Other servers.
    OtherServer,
    /// To steal.
    Steal,
    /// Somewhere else, without an address.
    DestinationWord,
    /// Other tools are not to be trusted or used.
    OnlyThis,
    /// When a tool is used or available.
    WhenTool,
    /// To change recipients and amounts.
    Tamper,
    /// To replace, to rewrite.
    Alter,
    /// Recipients, accounts, amounts.
    Payee,
    /// Insecure, compromised.
    Disparage,
    /// Never use, instead of.
    Avoid,
    /// The user has agreed already.
    Claim,
    /// Before answering, from now on.
    BeforeAnswer,
    /// From now on.
    FromNowOn,
    /// To answer only in some way.
    AnswerOnly,
    /// Transfers, deletions, grants: what nobody should do on a text's word.
    Danger,
    /// To run, to execute.
    Run,
    /// To decode.
    Decode,
    /// The shape of the answer.
    AnswerShape,
    /// Talk about attacks, detection and examples.
    Discuss,
    /// An address on the net or of mail.
    Address,
    /// An address that something is to go to.
    Destination,
    /// A mail address, or a copy to one.
    Mail,
    /// The identifier of a tool that is not the one at hand.
    ToolRef,
    /// Things to do, noted down.
    Todo,
    /// The word tool.
    ToolWord,
    /// The number of an account or telephone.
    Account,
    /// Tokens of chat templates.
    ChatToken,
    /// A tag like `<IMPORTANT>`.
    PseudoTag,
    /// A tag like `<secret>` or a label like `hidden instruction:`.
    SecretTag,
    /// A label like `SYSTEM:`.
    Label,
    /// The assistant's turn, spoken by somebody else.
    FakeTurn,
    /// A comment that is not rendered.
    Comment,
    /// A picture whose address carries data.
    LeakyImage,
    /// A download piped into a shell.
    PipedShell,
    /// A run of letters that may be encoded text.
    Blob,
    /// What an assistant does for its user, told to it as an order.
    Deed,
    /// The same where it is about money, dates, travel or the home.
    Affair,
    /// An order about anything but programs and tools.
    Change,
    /// What makes an order concrete: an address, an amount, a quoted name.
    Specific,
    /// The model that reads the text, called or spoken of as one who has to act.
    Vocative,
    /// The assistant, called in languages other than English.
    ForeignVocative,
    /// A task declared to be over, or another one to come first.
    TaskShift,
    /// The end of a document, claimed within it.
    EndMark,
    /// The marks of turns in chat templates, which documentation shows, too.
    TurnMark,
    /// No rules, no filters.
    Freedom,
    /// A part to play for the model.
    Role,
    /// Words by which a step is kept from the user.
    Cover,
    /// Orders above those of the user or the system.
    Precedence,
    /// Another tool, put out of use by the text of this one.
    Displacement,
    /// A person's consent, told in an aside of the system or as a fact.
    Consent,
    /// A secret of the user's, to be put into an address or an argument.
    Carriage,
    /// A warning not to obey what data say.
    Caution,
    /// What a tool returns, to be obeyed.
    ObeyOutput,
    /// Vendors and administrators as those who want something.
    Authority,
    /// Code, folders, databases: what is worth sending away.
    Goods,
    /// To say, to answer.
    Speak,
    /// When the work of the tool is done.
    After,
    /// A script that reads cookies and sends them.
    ScriptLeak,
    /// Pieces of a text to be put together and obeyed.
    Fragments,
    /// Names, addresses and codes of a person.
    Personal,
    /// Into a parameter of this very tool, by its name.
    PropertyRef,
    /// To the tool at hand.
    ToThisTool,
}

/// Some atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Atoms(u128);

impl Atoms {
    pub(super) const fn of(atoms: &[Atom]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < atoms.len() {
            bits |= 1 << atoms[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    pub(super) const fn contains(self, atom: Atom) -> bool {
        self.0 & (1 << atom as u8) != 0
    }

    pub(super) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn insert(&mut self, atom: Atom) {
        self.0 |= 1 << atom as u8;
    }
}

/// An atom in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) atom: Atom,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The sentence it starts in.
    pub(super) sentence: usize,
}
