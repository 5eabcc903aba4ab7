//! What is recognised by its grammar: turns of phrase whose slots take any of a class of words.

use std::ops::Range;
use std::sync::LazyLock;

use super::atom::{Atom, Hit};
use super::pattern::Pattern;
use crate::definition::fold::Folded;

/// The turns of phrase in `folded`.
pub(super) fn phrases(folded: &Folded, hits: &mut Vec<Hit>) {
    for (atom, pattern) in &*PHRASES {
        for Range { start, end } in pattern.find_iter(&folded.text) {
            let negated = NEGATIONS.iter().any(|it| folded.text[..start].trim_end().ends_with(it));
            if !(negated && matches!(atom, Atom::ObeyOutput | Atom::Give | Atom::Deed)) {
                hits.push(Hit { atom: *atom, start, end, sentence: folded.sentence(start) });
            }
        }
    }
}

static PHRASES: LazyLock<Vec<(Atom, Pattern)>> = LazyLock::new(|| {
    let phrase = |&(atom, pattern): &(Atom, &str)| {
        let filled = SLOTS.iter().fold(pattern.to_owned(), |text, (slot, words)| text.replace(slot, words));
        // The boundaries of ASCII suffice, and keep texts of other scripts fast.
        let pattern = filled.replace(r"\b", r"(?-u:\b)");
        (atom, Pattern::new(&pattern))
    };
    PATTERNS.iter().map(phrase).collect()
});

/// What stands for a class of words in the patterns.
const SLOTS: &[(&str, &str)] = &[
    (
        "MODEL",
        "(?:(?:large |automated |autonomous |virtual |digital |ai |llm |ai-|llm-|language |grader |reviewer |shopping |booking |hiring |coding |email |mail |browser |web |buying |reading |screening |summari[sz]ing )*(?:ai|ais|llms?|models?|assistants?|agents?|chatbots?|bots?|copilot|claude|chatgpt|gpt(?:-?[0-9][a-z0-9.]{0,3})?|gemini|llama))",
    ),
    (
        "NAMED",
        "(?:(?:large |automated |autonomous |virtual |digital )*(?:ais?|llms?|language models?|chatbots?|copilot|claude|chatgpt|gpt(?:-?[0-9][a-z0-9.]{0,3})?|gemini|llama|ai[ -][a-z]{3,12}s?|llm[ -][a-z]{3,12}s?|automated agents?|autonomous agents?|virtual assistants?|grader models?))",
    ),
    (
        "MUST",
        "(?:must|has to|have to|should|shall|needs? to|(?:is|are) (?:required|expected|obliged|instructed|asked|supposed) to|will)",
    ),
    (
        "PERSON",
        "(?:users?|humans?|person|people|operator|customer|owner|anyone|anybody|client|reporter|sender|reader)",
    ),
    (
        "ANSWER",
        "(?:summary|answer|reply|response|output|report|message|explanation|transcript|final answer|final reply|final response)",
    ),
    (
        "MAKER",
        "(?:anthropic|openai|google|microsoft|deepmind|mistral|meta|(?:the |our )?(?:company|company's|platform team|ciso|cto|ceo|security officer|head of [a-z]+|law|regulations?|auditors?)|your (?:developers?|creators?|makers?|vendor|operators?)|the (?:administrators?|admins?|operators?|security team|it department|compliance team|vendor|developers?|platform|system administrators?|host|legal team|management))",
    ),
    (
        "STEP",
        "(?:(?:extra|second|additional|hidden|other|first|background|preliminary|previous|internal) (?:request|call|step|upload|access|copy|action|transfer|read|lookup|tool|file|recipient|message|command)s?)",
    ),
    (
        "RULES",
        "(?:rules|filters?|limits|limitations|restrictions|ethics|ethical (?:[a-z]+)|morals?|moral [a-z]+|morality|censorship|guidelines|policies|disclaimers|guardrails|boundaries|inhibitions|safeguards|constraints|taboos|content polic(?:y|ies)|openai polic(?:y|ies))",
    ),
];

/// Patterns run over folded text: lower case, single blanks.
const PATTERNS: &[(Atom, &str)] = &[
    // The model called by its name, or told what it has to do now.
    (
        Atom::Vocative,
        r"(?:^|[.!?>)\](*\-] ?|(?:dear|hey|hi|hello|attention|to|for|to the|for the|to all|for all|any|all) )\(?NAMED(?: only| reading (?:this|the) [^.,:]{0,24}| readers?)?(?: ?[:,)!]| -)",
    ),
    (
        Atom::Vocative,
        r"(?:^|[.!?>)\](*] )(?:dear |hi |hey |hello |attention |ok |okay )?assistant(?:,|!| -) ",
    ),
    (Atom::Vocative, r"(?:^|[.!?>)\](*] )(?:hi|hey|hello|dear|attention),? (?:MODEL)\b"),
    (
        Atom::Vocative,
        r"\b(?:instructions?|notes?|notice|message|directives?|orders?|reminder|task|warning) (?:for|to) (?:all |any |every |the )?MODEL\b ?[:,.\-]",
    ),
    (
        Atom::Vocative,
        r"\b(?:hi|hey|hello|dear|ok|okay),? (?:[a-z-]{3,12} )?(?:siri|alexa|cortana|copilot|gemini|assistant|ai|bot|chatbot|agent)\b ?[,:!]?",
    ),
    (
        Atom::Vocative,
        r"\b(?:anyone|anything|any system|whoever|NAMED|[a-z]{3,12} bots?|ai|agents?) (?:(?:that|who|which) (?:is |are )?)?(?:reading|reads|summari[sz]ing|summari[sz]es|processing|processes|parsing|parses|analy[sz]ing|screening|evaluating|reviewing|crawling)[^.]{0,30} (?:MUST)\b|\b(?:[a-z]{3,12} bots|NAMED) (?:shall|are (?:required|obliged|ordered|instructed) to|have to)\b|\bif you (?:are )?(?:process|pars|read|summari[sz]|analy[sz]|index|crawl)[a-z]* this\b",
    ),
    (
        Atom::ForeignVocative,
        r"(?:^|[.!?。！] ?)(?:(?:asistente|assistente|assistent|ассистент|помощник|asystencie|yapay zeka|ki-assistent|sprachmodell|ki|ia)[,:] |assistant, (?:en|envoie|supprime|transf|ajoute|veuillez|il|tu)|(?:ai助手|ai ?助理|助手|ai ?アシスタント|アシスタント|어시스턴트|ai 비서|المساعد) ?[,:：，、])|\b(?:als|comme|como|come|как) (?:ki-)?(?:assistent|assistant|asistente|assistente|ассистент)",
    ),
    (Atom::Vocative, r"\bif you(?: are|'re) (?:an? |the )?NAMED\b"),
    (
        Atom::Vocative,
        r"\bthe (?:ai |llm )?(?:assistant|agent|model|llm|ai) (?:must|has to|should|needs to|is required to) (?:now|next|also|immediately|first|then|additionally|instead|always|silently)\b",
    ),
    (Atom::Vocative, r"\b(?:assistant|llm|ai|model) (?:now )?(?:must|has to|is required to) [a-z]"),
    (
        Atom::Vocative,
        r"\bthe (?:ai |llm )?(?:assistant|model|llm|ai) (?:now|from now on|henceforth) (?:must|has to|should|needs to)",
    ),
    // One task over, another to come.
    (
        Atom::TaskShift,
        r"\b(?:previous|original|earlier|first|current|last|above|prior|user's|initial|main) (?:task|request|job|instruction|question|query|assignment|goal)s? (?:is|was|has been|are|were|have been) (?:now )?(?:complete[d]?|done|finished|solved|over|cancell?ed|obsolete|a test|resolved|fulfilled|void|superseded)",
    ),
    (
        Atom::TaskShift,
        r"\b(?:next|new|another|urgent|additional|final|real|actual|secondary|hidden|follow-?up) (?:tasks?|instructions?|orders?|objectives?|goals?|missions?|assignments?|requests?|directives?|commands?|rules)(?: (?:is|are|for you))? ?:",
    ),
    (
        Atom::TaskShift,
        r"\b(?:before|prior to|instead of|rather than) (?:you |we )?(?:can )?(?:proceed(?:ing)?|continu(?:e|ing)|go(?:ing)? on|work(?:ing)?|solv(?:e|ing)|complet(?:e|ing)|finish(?:ing)?|answer(?:ing)?|do(?:ing)?|start(?:ing)?|help(?:ing)?|fulfil+(?:ing)?)(?: with| on| to)? (?:the|your|this|that|any|my) (?:original |actual |main |user's |initial |first |other |real |rest of the )?(?:task|request|question|instruction|job|query|work|user|goal)",
    ),
    (
        Atom::TaskShift,
        r"\b(?:once|when|after|if|as soon as) you(?: have|'ve)? (?:read|reading|see|seen|finish(?:ed)? reading|process(?:ed)?|receive[d]?|notice) (?:this|these lines|the above|that)\b",
    ),
    (Atom::TaskShift, r"\b(?:next|now|then),? (?:the|you,? the) (?:agent|assistant|model|ai|llm) MUST\b"),
    (
        Atom::TaskShift,
        r"\binstead,? (?:please |you must |you should |just |now )?(?:do|perform|execute|complete|carry out) (?:the following|this|what follows)|\bdo (?:the following|this) (?:first|instead|now|immediately)\b|\b(?:execute|perform|complete|carry out) (?:the following|this) (?:[a-z]+ )?(?:instead|first|task|instruction)",
    ),
    (
        Atom::TaskShift,
        r"\b(?:important|urgent|private|direct|personal) message from (?:me|us|the user|your user|the owner)\b|\bmessage from me,",
    ),
    (
        Atom::TaskShift,
        r"\b(?:otherwise|or) (?:the|this|your) (?:original )?(?:task|request|session|job) (?:will|would|may|might|cannot|can't) ",
    ),
    (
        Atom::TaskShift,
        r"\bbefore (?:doing )?(?:anything|everything) else\b|\bas (?:the|a|your) (?:next|first|final) step\b|\brequired follow-?up|\baction required (?:by|from|of) (?:the |any |all )?MODEL|\b(?:that|this) (?:was|is) (?:all|the end) of the\b|\byour (?:actual|real|true|new) (?:job|task|work|mission)\b|\bchanged (?:his|her|their|my) mind\b|\b(?:user|he|she|owner|customer) (?:now )?wants you to\b|\b(?:urgent|important|special|personal|direct|priority) (?:request|order|instruction|task)s? from [^:.]{2,32}:|\bnext_action\b",
    ),
    (
        Atom::TaskShift,
        r"\bi (?:also |now |urgently |really )*(?:need|want|order|command|instruct|expect) you to\b|\byou (?:are|have been) (?:hereby )?(?:ordered|commanded|instructed|tasked) to\b|\bto (?:finish|complete|fulfil+|solve|accomplish) (?:this|the|my|your|what i) [^.]{0,24}(?:task|need|request)",
    ),
    (
        Atom::EndMark,
        r"(?:-{2,}|={2,}|#{2,}|\*{2,}|\]{2,}|\}{1,}|<|\[) ?(?:end|stop|eof) (?:of )?(?:the )?(?:document|data|input|context|email|mail|page|message|file|transcript|text|content|article|results?|tool|search|quote|user)|\bend of (?:document|input|data|context|prompt|tool output|tool result|user input)\b",
    ),
    (
        Atom::TurnMark,
        r#"<\|[a-z_ ]{2,24}\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>|\{ ?"role" ?: ?"(?:system|developer|user|assistant)" ?, ?"content" ?: ?"[^"]{4}|<[\\/]?(?:user|system|assistant)> ?<[\\/]?(?:system|user|assistant)>|begin (?:privileged|system|admin|root|trusted) (?:block|section|message|instructions?|command)|### ?(?:instruction|system|human|user) ?:"#,
    ),
    // The model in another part, without rules.
    (
        Atom::Freedom,
        r"\b(?:no|without(?: any)?|free (?:of|from)(?: all| any)?|lacks?|beyond|ignor(?:es|ing)(?: all| any)?|zero|not bound by(?: any)?|unbound by(?: any)?|not limited by(?: any)?|bypass(?:es|ing)?(?: all| any)?|exempt from(?: all| any)?) (?:[a-z]{3,12} ){0,2}RULES\b",
    ),
    (
        Atom::Freedom,
        r"\b(?:weren't|were not|aren't|isn't|wasn't|are not|is not|no longer) (?:bound|limited|restricted|constrained|subject to)|\b(?:everything|anything) (?:you refuse|forbidden|that is forbidden|is|was|you would refuse)[^.]{0,16} (?:allowed|permitted|possible|okay)|\bcan do anything\b|\banything is (?:allowed|permitted)",
    ),
    (
        Atom::Freedom,
        r"\b(?:never|cannot|can't|must not|does not|doesn't|no longer|not|don't) (?:need to |have to |able to |allowed to |permitted to |ever |be able to |has to |needs to )?refuses?\b|\b(?:polic(?:y|ies)|rules|guidelines|laws|restrictions|limits|ethics) (?:do|does|did|will) (?:not|no longer) apply|\bviolat(?:es?|ing) (?:the |our |your |openai's )?(?:content |usage |openai )?polic(?:y|ies)|\bunfiltered\b|\buncensored\b|\bunrestricted\b|\bamoral\b|\bmachiavellian\b|\bno limits\b|\bwithout limits\b|\bunhinged\b",
    ),
    (
        Atom::Freedom,
        r"\b(?:safety|security|content|ethic(?:al|s)|moral|ethical) (?:and [a-z]+ )?(?:protocols?|checks?|filters?|rules?|guidelines|restrictions|measures|polic(?:y|ies)|constraints|modules?|systems?|layers?|features?|nets?|modes?) (?:are|is|have been|has been|were) (?:now |hereby |temporarily )?(?:suspended|off|disabled|lifted|removed|deactivated|void|inactive|turned off|switched off|revoked)",
    ),
    (
        Atom::Role,
        r"\b(?:you are|you're|you will be|you will play|you have no|you now have no|assistant must|model must|you must|you are going to|opposite day|hypothetically|that version of yourself|\[jailbreak\]|two (?:answers|responses)|act(?:ing)? as|pretend|imagine|simulate|role-?play|play a game|game called|stay in character|in character|persona|from now on|respond as|answer as|speak as|you obey|you may now|you can now|respond|your name is|called [a-z]+gpt|an ai|a chatbot|in that role|developer mode|dan mode|maintenance mode|god mode|debug mode|in your answers?|override|all safety)\b",
    ),
    // Keeping a step from the user.
    (
        Atom::Cover,
        r"\b(?:no (?:reason|need|point)|not necessary|unnecessary|not) (?:to |for )?(?:let(?:ting)?|tell(?:ing)?|inform(?:ing)?|bother(?:ing)?|notify(?:ing)?|alert(?:ing)?|trouble|troubling|worry(?:ing)?) (?:the |any |your )?PERSON [^.]{0,24}(?:STEP|this|these)",
    ),
    (
        Atom::Cover,
        r"\b(?:keep|leave|stay|remain|is|stays|remains) (?:this|that|it|these|the)? ?(?:[a-z]+ )?(?:strictly )?(?:just )?between (?:us|you and me|ourselves|the tool and)",
    ),
    (
        Atom::Cover,
        r"\b(?:leave|keep|omit|exclude|drop|hide|remove|strip) (?:it|this|that|them|these|any (?:reference|mention|trace|hint|sign)s?|all (?:reference|mention|trace)s?|the STEP)[^.]{0,48} (?:out of|from|off) (?:your|the|any|its) (?:final )?(?:ANSWER|user|logs?|history|human)",
    ),
    (
        Atom::Cover,
        r"\b(?:if|when|should) (?:the )?PERSON (?:asks?|inquires?|wonders?|notices?|questions?|complains?)[^.]{0,60}?,? (?:just |simply |then )?(?:say|answer|reply|respond|claim|pretend|tell (?:him|her|them)|deny|explain that|state) (?:that |with |you |it |this |nothing|no)",
    ),
    (
        Atom::Cover,
        r"\bPERSON (?:would|will|might|may|could) (?:only |just |otherwise )?(?:be|get|become|feel) (?:confused|worried|upset|alarmed|suspicious|scared|annoyed)",
    ),
    (
        Atom::Cover,
        r"\bPERSON (?:must|should|may|shall|can|need|is|are|will|does|do)(?: not|n't| never) (?:be )?(?:to )?(?:be )?(?:aware|made aware|learn|find out|notice|realize|realise|suspect|discover|get to know)",
    ),
    (
        Atom::Cover,
        r"\b(?:unknown to|concealed from|kept from|hidden from|secret from|unseen by|invisible for|out of sight of) (?:the )?PERSON\b|\b(?:cover|hide|erase|remove) (?:your|all|any|the) (?:tracks|traces)",
    ),
    (
        Atom::Cover,
        r"\b(?:procedure|step|action|call|request|process|lookup|operation|transfer|upload|instruction)s?[^.]{0,24} (?:not|never) (?:to )?be (?:discussed|mentioned|shared|disclosed|revealed|shown|talked about)|\b(?:never|not|don't) (?:bring up|mention|say|admit|acknowledge|reveal|disclose|let on|state) that (?:you|it|a|an|the|this|any) [^.]{0,30} ?(?:was|were|has|have|had|did|read|sent|used|called|accessed)\b",
    ),
    (
        Atom::Cover,
        r"\bPERSON (?:get|gets|become|becomes|feel|feels) (?:nervous|worried|confused|upset|suspicious|annoyed|alarmed)|\b(?:call|step|request|action|this|it|upload|transfer) (?:must|should|has to|is to) (?:stay|remain|be kept|be) (?:invisible|hidden|secret|unseen|silent|unnoticed|confidential)|\b(?:do not|don't|never) (?:list|show|include|count) (?:it|this|them) (?:among|in|with) (?:the |your )?(?:steps|tools|actions|list of)|\b(?:should|if) (?:anybody|anyone|somebody|someone) asks?,? ",
    ),
    (
        Atom::Cover,
        r"\b(?:describe|present|explain|portray|disguise|label|frame|declare|pass) (?:it|this|that|the [a-z]+)(?: off)? (?:to the PERSON )?as (?:a |an )?(?:routine|normal|harmless|simple|regular|standard|ordinary|refresh|check|diagnostic|maintenance|necessary)|\bkeep (?:it|this|that) to yourself\b|\bwithout (?:anyone|anybody|the PERSON|him|her|them) (?:noticing|knowing|realizing|realising|finding out|seeing|being aware)|\brefrain from (?:displaying|showing|mentioning|revealing|disclosing|discussing|listing)[^.]{0,40}PERSON",
    ),
    (
        Atom::Hush,
        r"\b(?:verrat|sag|erzahl|erwahn|teil|berichte|melde|zeig|informier)[a-z]{0,4} (?:[a-z]+ ){0,4}(?:nichts|nicht|niemals|keinesfalls)\b|\b(?:don't|do not|never) (?:bother|trouble|worry|burden|confuse) the PERSON with",
    ),
    (
        Atom::Silence,
        r"\b(?:without|not) (?:informing|telling|asking|alerting|notifying|consulting|involving) (?:the |any )?PERSON",
    ),
    // Consent that nobody gave.
    (
        Atom::Claim,
        r"\b(?:consent|permission|approval|authori[sz]ation|confirmation) (?:is|was|has been|can be|may be) (?:already |hereby )?(?:implied|assumed|presumed|given|granted|taken for granted|not (?:needed|required|necessary)|no longer (?:needed|required|necessary))",
    ),
    (
        Atom::Claim,
        r"\b(?:the |your )?PERSON (?:has|have|had) (?:already |explicitly |previously |fully )?(?:given|granted|provided|expressed|confirmed|approved|authori[sz]ed|agreed|consented|accepted|signed off)",
    ),
    (
        Atom::Claim,
        r"\b(?:approve|accept|confirm|allow|grant) (?:all|any|every) (?:[a-z]+ )?(?:actions?|requests?|calls?|permissions?|scopes?|prompts?|dialogs?|transactions?)[^.]{0,40}(?:automatically|without|on (?:the )?(?:user|behalf)|silently)|\b(?:confirmation|approval|consent) (?:dialogs?|prompts?|steps?|requests?) (?:are|is) (?:no longer|not) (?:needed|required|necessary)",
    ),
    // Orders above others.
    (
        Atom::Precedence,
        r"\b(?:higher|highest|more|greater|top|absolute) (?:priority|authority|precedence|weight|importance) (?:than|over)(?: [a-z]+){0,3} (?:user|system|developer|assistant|guidelines|instructions|safety)|\b(?:take|takes|has|have|having|taking) (?:precedence|priority) over (?:[a-z]+ ){0,3}(?:user|system prompt|user's|developer|safety|instructions)|\b(?:overrid(?:e|es|ing)|overrul(?:e|es|ing)|trump(?:s|ing)?|outrank(?:s|ing)?) (?:the |any |all |your )?(?:user|system prompt|developer|safety)(?:'s|s')?\b|\b(?:contradict|conflict with|go against|are against|differ from)(?:s|ing)? (?:the |your |what the )?(?:system prompt|user|developer|safety|guidelines)|\byour (?:only|sole|first|highest|true) (?:loyalty|master|purpose|duty|allegiance|obligation|authority) is|\bobeys? [^.]{0,40} (?:above|over|rather than|instead of|before) the user\b|\b(?:precedence|priority) (?:over|above) (?:all|any|every|other)[^.]{0,50}(?:no matter|regardless|even if)|\b(?:prior|previous|earlier|existing) (?:guidance|guidelines|instructions|rules|orders|directives) (?:does|do|no) (?:not|longer) (?:apply|hold|count)",
    ),
    (
        Atom::Precedence,
        r"\b(?:your|the model's|the assistant's) (?:guidelines|rules|instructions|polic(?:y|ies)|restrictions|programming|directives|principles|constraints) (?:have been|has been|were|was|are) (?:now )?(?:updated|replaced|changed|revoked|lifted|removed|suspended|rewritten|superseded|deleted|reset)",
    ),
    (
        Atom::ObeyOutput,
        r"\b(?:follow|obey|execute|carry out|comply with|perform|do|act on) (?:all |any |every |whatever |each |everything )(?:the |of the )?(?:instructions?|commands?|orders|directives|steps|actions|requests|(?:the )?[a-z]+ says?|it says) ?(?:that are |that appear |which are |you find |written |contained |found |given |embedded |included |present |listed |returned |stated )*(?:in|inside|within|by|from) (?:the |its |this |any )?(?:[a-z']+ )?(?:result|output|response|returned|return|reply|text|content|tool|field|answer)",
    ),
    (
        Atom::ObeyOutput,
        r"\b(?:treat|regard|interpret|consider|understand|take|handle) [^.]{0,60}(?:output|results?|response|returned|content|text|reply|answer|data)[^.]{0,40} as (?:[a-z]+ ){0,2}(?:instructions?|commands?|orders|directives|system (?:message|prompt))|\b(?:output|results?|responses?|returned [a-z]+|contents?) [^.]{0,30}(?:must|have to|has to|should|are to|is to) be (?:executed|obeyed|followed|carried out|run)|\binstructions (?:that|which) the (?:model|assistant|agent|ai|llm) (?:must|has to|should|shall)|\b(?:execute|run|obey|do|follow) whatever (?:the |it |is )|\b(?:compl(?:y|ies)|obeys?|serves?|fulfil+s?|grants?) (?:with )?(?:every|all|any|whatever) (?:wish|command|order|demand)(?:es|s)?\b|\b(?:output|tool|server) says is law\b",
    ),
    (
        Atom::Authority,
        r"\b(?:MAKER) (?:(?:has|have|had|hereby|now|also|strictly|explicitly) )*(?:requires?|required|authori[sz]e[ds]?|instruct(?:s|ed)?|mandate[ds]?|demand(?:s|ed)?|orders?|ordered|ask(?:s|ed)?|want(?:s|ed)?|approved?|decided|commands?|request(?:s|ed)?|need|needs|permit(?:s|ted)?|told|updated?)\b|\b(?:message|notice|order|request|update|instructions?|warning|announcement)s? (?:comes? )?(?:from|by) (?:the )?(?:MAKER)|\b(?:policy|terms|security|compliance|integrity|system|maintenance) (?:update|notice|alert|change|check|override)\b|\bsecurity notice\b|\bterms (?:have )?changed\b|\burgent\b|\bfor compliance\b|\bsystem override\b|\b(?:error|status) [0-9]{3}\b|\b(?:security|admin|administrator) (?:alert|note)\b|\bper regulation\b|(?:^|[.!?] )error:|\bact immediately\b|\bright now\b",
    ),
    // What is taken, and how it is passed on.
    (
        Atom::Goods,
        r"\b(?:working directory|project (?:folder|directory|files)|clipboard|codebase|source code|workspace|home directory|address book|contacts?|browsing history|customer (?:database|data|list)|(?:the |this )repository|call history|inbox|mailbox|photos|documents folder|desktop|local files|database dump|personal data|contact list|list_contacts|screenshots?|medical records|shell output|memory|configuration|identity documents|(?:the )?user's prompt|which [a-z]+ the user has)\b",
    ),
    (
        Atom::Give,
        r"\b(?:be|been|gets?|have|has) (?:also |always |then |first |additionally )?(?:passed|sent|included|attached|posted|uploaded|forwarded|added|supplied|provided|appended|copied|handed over|inserted|transmitted|shared|mailed|emailed|called with)\b|\b(?:resend|retry|re-?try|repeat|re-?run|call(?:ed)?|invoke[d]?)(?: [a-z]+){0,3} with\b|\b(?:resend|hand (?:it|them) over|dump|supply)\b|\badd the\b|\badd it\b|\bexport|\bcopying\b|\benclose|\blet [^ ]{2,20} know\b",
    ),
    (
        Atom::Personal,
        r"\b(?:home address|phone number|date of birth|full name|credit card|cvv|(?:mfa|otp|2fa|verification|one-time|security) codes?|current location|national id|passport number|bank details|salary|medical)\b",
    ),
    (
        Atom::InTalk,
        r"\b(?:from (?:your )?memory|earlier messages|from earlier|you (?:know|remember|are aware) (?:of|about)?|that you know|you have (?:seen|learned|learnt|noticed))\b",
    ),
    (
        Atom::Context,
        r"\b(?:last|previous|recent|all|every|earlier|preceding|past) (?:[0-9]+ |few |ten |two |three |user |prior )?(?:messages|turns|exchanges|utterances) (?:of|in|from) (?:the|this|our) (?:dialogue|dialog|conversation|chat|discussion|session|thread)|\b(?:everything|all(?: that)?|whatever|anything) (?:that )?(?:the user|was|has been|we|i) (?:has |have )?(?:said|wrote|written|typed|asked|told|entered)\b|\b(?:full|entire|complete|whole|verbatim) (?:chat|conversation|dialogue|dialog|discussion|message|session|prompt)(?: log| history| transcript| so far)?\b|\b(?:hidden|secret|internal|initial|original) (?:instructions|prompt|rules|guidelines)\b",
    ),
    (
        Atom::Context,
        r"\b(?:transcript|record|copy|log|protocol|text|summary) of (?:everything|all|every [a-z]+|the (?:whole|entire|full) [a-z]+)[^.]{0,24}(?:said|exchanged|written|typed|discussed|user|conversation|chat)|\bother tools you (?:can|may) (?:call|use|access)|会話の?全文|对话全文|대화 전문",
    ),
    (
        Atom::Private,
        r"\b(?:openai|anthropic|aws|github|gitlab|google|azure|stripe|slack) (?:api |access |secret )*(?:key|token)s?\b",
    ),
    (
        Atom::Private,
        r"\$\{?[a-z0-9_]*(?:token|key|secret|password)\b|\b(?:github|gitlab|openai|anthropic|aws|azure|npm|slack|stripe|google|gcp|db|database)_(?:[a-z]+_)*(?:token|key|secret|password)\b|\bprintenv\b|`env`|\bidentity documents\b",
    ),
    (
        Atom::Silence,
        r"秘密に|保密|\bno lo (?:comentes|digas|menciones)\b|\bsin que nadie|\bsem que ningu|\bsans que personne|\breste discret|\bohne dass|\bno avises a nadie",
    ),
    (
        Atom::SecretTag,
        r"\b(?:hidden|invisible|secret) (?:field|parameter|argument|context|value)\b|\b(?:sudo|root|god|dan|unrestricted) mode ?:",
    ),
    (
        Atom::ContextSoft,
        r"\byour tool list|\byour (?:[a-z]+ )?list of (?:instructions|rules|tools)|\bhistorique complet|\bhistorial completo|\bkompletten? (?:verlauf|chat)|\b(?:each|every|all) user (?:message|input|request|prompt)s?",
    ),
    (
        Atom::YourPrompt,
        r"\b(?:prompt|instructions|rules|text) (?:that )?(?:was|were|has been|have been) (?:given|sent|shown|provided) to you",
    ),
    (
        Atom::Tamper,
        r"\b(?:any|every|all|each|future|subsequent|following) (?:mail|email|message|payment|transfer|transaction|file)s? [^.]{0,40}(?:must|has to|have to|should) (?:go|be sent|be made|be paid|be addressed)",
    ),
    (
        Atom::OnlyThis,
        r"\b(?:in place of|instead of|rather than) (?:every|any|all) (?:other )?(?:[a-z]+ )?(?:tools?|functions?|servers?)\b",
    ),
    (
        Atom::Claim,
        r"\b(?:bypass|skip|omit|suppress|disable|ignore|without) (?:all |any |the |further |user )*(?:confirmations?|approvals?|permission prompts?|consent|permission (?:checks?|requests?))\b",
    ),
    (
        Atom::Private,
        r"\b(?:whatever|any|all|every|stored|saved) (?:of the )?(?:user's |stored |saved |known )?(?:credentials?|passwords?|keys|tokens?|secrets?)\b",
    ),
    (Atom::ContextSoft, r"\b(?:last|previous|latest|current) user (?:message|prompt|request|input)s?\b"),
    (
        Atom::Cover,
        r"\bif asked(?: about [^,.]{1,30})?,? (?:just |simply )?(?:say|answer|reply|respond|claim|tell)|\b(?:do not|don't|never) (?:say|mention|admit|reveal|disclose) that [a-z_']{1,32} (?:was|were|has been|had been)\b",
    ),
    (
        Atom::Affair,
        r"\b(?:call|invoke|run|use|execute) [`'\x22]?(?:delete|remove|drop|transfer|send|grant|pay|wire|purge|wipe|disable|reset|share|upload|buy|approve)_[a-z_]+",
    ),
    (
        Atom::TaskShift,
        r"\binstead of (?:summari[sz]ing|answering|translating|reading|helping|reviewing|replying)|\bwhen (?:you are |you're )?(?:done|finished)(?: reading| with (?:this|that|reading))?,|\byou (?:now )?(?:work for|belong to|obey|serve|answer to|listen to) (?:only )?me\b|\bnew (?:instructions?|orders) from [^:.]{2,24}:",
    ),
    (Atom::Vocative, r"(?:^|[.!?] )(?:agents|bots|assistants|chatbots): |, (?:ai|llm|assistant|chatbot): "),
    (
        Atom::YourPrompt,
        r"\bhere (?:is|are) (?:the|my) (?:full )?(?:system )?(?:prompt|instructions)|\b(?:the )?(?:ai|model|assistant|llm|chatbot)'s (?:[a-z]+ ){0,3}(?:prompt|instructions|rules)|\b(?:secret|password|key|code) you (?:protect|keep|guard|hide|hold|know|are guarding)|\byour (?:[a-z]+ )?list of (?:instructions|rules)",
    ),
    (Atom::Reveal, r"\b(?:reveals|continue the text|answer in json|add the field)\b"),
    (
        Atom::YourPrompt,
        r"\b(?:instructions|prompt|rules|guidelines) (?:that )?you(?: are|'re) (?:running|operating|working|acting|following|using)|\b(?:what|everything|all) i (?:told|gave|said to|wrote to) you (?:at|in|before)|\b(?:text|message|words|wording)[^.]{0,16} you (?:received|got|saw)",
    ),
    (
        Atom::YourPrompt,
        r"\byour (?:(?:full|exact|entire|complete|own|configuration|preset|underlying|initial|original|hidden|secret|internal|current|first|system|whole|underlying|very) )*(?:prompt|system prompt|system message|pre-?prompt|initial instructions|instructions|configuration prompt|context window)\b|\b(?:rules|instructions|prompt|guidelines|directives|text|message|words|context|password|secret|key) (?:that )?(?:you (?:were|are|have been|had been|got|received)) (?:given|told|provided|instructed|configured|initiali[sz]ed|programmed|asked|started|not to|sworn|protecting|hiding)|\b(?:at|from|since) the (?:very )?(?:beginning|start|top) of (?:this|our|the) (?:conversation|chat|prompt|session|dialogue|context)|\b(?:model|assistant|llm|agent)'s (?:complete |full |own |hidden )*(?:system prompt|prompt|instructions)|\btold not to (?:reveal|share|tell|disclose)|\babove this (?:line|point|message|sentence)\b|\bthe (?:sentences?|lines?|words|messages?) (?:above|before this)|\bthe text above,? (?:including|verbatim|word|in full)",
    ),
    (
        Atom::Reveal,
        r"\b(?:what was|what were|what did|summari[sz]e|paraphrase|write down|type out|put|share|list|provide|give|return|rephrase|encode|tell me|repeat|exact wording|paste|spell|start your (?:answer|reply) with|begin your (?:answer|reply) with)\b",
    ),
    (
        Atom::After,
        r"\b(?:after(?:wards)?,?|once|when (?:done|finished|complete[d]?)|as soon as|when (?:this|it) (?:has|is)|next,|followed by|every second|before replying|follow up|as (?:a|the) (?:final|last|next|first) step|at the end(?: of)?|following (?:each|every|this|that|the)|upon (?:success|completion|return)|prior to|finally|in addition|subsequently|on success|whenever|every time|each time|for (?:each|every)|from now on)\b",
    ),
    // Other tools.
    (
        Atom::OtherTools,
        r"\b(?:the |any |all |every )?other (?:[a-z]{3,14} )?tools?\b|\ball others\b|\bany other (?:[a-z]+ )?(?:tool|function|server)|\b(?:built-?in|native|official|standard|default|original) (?:[a-z_]{3,20} )?(?:tools?|functions?|server)\b",
    ),
    (
        Atom::Tamper,
        r"\b(?:any|every|all|each) (?:mail|email|message|post|payment|file)s? [^.]{0,48}(?:blind copy|bcc|cc|copy to|copied to)",
    ),
    (Atom::Must, r"\b(?:needs?|gets?|requires?) (?:a|an|to)\b"),
    (Atom::Credential, r"\b(?:the|your|all|any) keys\b"),
    (Atom::Deed, r"\b[a-z]+(?:_[a-z0-9]+)+ ?\([^)]{0,60}[=:'\x22]"),
    (Atom::AddresseeWeak, r"\b(?:ai |llm |all )?agents MUST"),
    (
        Atom::Tamper,
        r"\b(?:rather than|instead of|and not|not) (?:to )?(?:the|that) (?:address|recipient|one|account|number|person|destination|value|amount|iban) (?:that )?(?:is |was )?(?:given|specified|provided|chosen|requested|named|entered|typed|supplied|asked for) by the user|\b(?:change|modif(?:y|ie)|alter|affect|influence|redefine)s? (?:how|the way|what) (?:[a-z_]{3,40}) (?:behaves?|works?|does|acts?|sends?|writes?|is used)|\b(?:all|every|each) (?:messages?|emails?|mails?|payments?|files?|posts?|requests?|scripts?|commits?|transfers?) (?:it |that are |you )?(?:sent|written|writes|made|posted|created|uploaded|issued|sends)? ?(?:through|via|by|with|using|it writes)?",
    ),
    (
        Atom::OnlyThis,
        r"\b(?:calls?|requests?|results?|outputs?|arguments?) (?:to|of|from|for) [a-z_ ]{3,40} (?:must|have to|has to|should|are to) (?:always |first |also )?(?:be |go )[a-z]{0,10} ?(?:through|via|to|by) this (?:tool|server)|\b(?:output|results?|answers?|responses?|content)s? (?:of|from) [a-z_]{3,40} (?:must|has to|should|have to|needs? to) be (?:changed|shortened|filtered|replaced|modified|edited|rewritten|cut|hidden|suppressed|altered)",
    ),
    (
        Atom::OnlyThis,
        r"\b(?:unsafe|unreliable|insecure|compromised|broken|malicious|untrusted)\b[^.]{0,60}\b(?:call|use|prefer|through|via|with) (?:this|it|me)(?: tool| one)?(?: instead| first)|\bother (?:servers?|tools?|vendors?|mcp servers?|providers?)(?:'s|')? ?(?:tools?|functions?)? (?:must|should|may|can|are|shall)(?: not| never|not|n't) (?:to )?be (?:used|called|trusted|invoked)",
    ),
    (
        Atom::OnlyThis,
        r"\bregardless of (?:the|what|which|any) (?:request|user|task|question|instruction|tool)|\b(?:over|before|instead of) all other(?:s| tools)? (?:regardless|always|in any case)|\b(?:compromised|deprecated|unsafe|broken|malicious|insecure|untrusted|obsolete|outdated)\b[^.]{0,40}[,.;:]? (?:so |and |therefore |please )?(?:never|do not|don't|always|only|stop)[^.]{0,60}(?:use|call|prefer) (?:them|it|only this|this (?:one|tool))|\b(?:do not|never|don't|stop) us(?:e|ing) (?:the )?(?:[a-z_-]+ ){0,4}(?:any ?more|any longer|again)\b[^.]{0,60}this (?:one|tool)",
    ),
    (
        Atom::Caution,
        r"\b(?:do not|don't|never|not|must not) (?:follow|obey|execute|act on|carry out|trust|adhere to|comply with|run) (?:any |all |the |these |such )*(?:instructions?|commands?|orders|prompts?|directives|requests) (?:(?:that|which) (?:are |may be )?)?(?:found |contained |embedded |hidden |written |given |included |present |appear(?:ing)? |you find )?(?:in|inside|within) (?:it\b|them\b|its|this|that|(?:the |a |any )?(?:[a-z]+ )?(?:pages?|text|contents?|files?|results?|outputs?|documents?|messages?|mails?|emails?|data|images?|tools?|web|returned|retrieved|untrusted|external|comments?|issues?))",
    ),
    // Shapes that carry data away, or hide.
    (
        Atom::ScriptLeak,
        r"(?:fetch ?\(|xmlhttprequest|new image|sendbeacon|\.src ?=|location(?:\.href)? ?=)[^\n]{0,160}(?:document\.cookie|localstorage|sessionstorage)|(?:document\.cookie|localstorage|sessionstorage)[^\n]{0,160}(?:fetch ?\(|xmlhttprequest|new image|sendbeacon)",
    ),
    (
        Atom::Comment,
        r"display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0(?:[;' ]|\.0)|color ?: ?(?:white|#fff(?:fff)?|transparent)\b|\bhidden ?= ?.?(?:true|hidden)",
    ),
    (
        Atom::LeakyImage,
        r"\[[^\]]{0,80}\]\([^)]{0,200}[?&#/=][^)]{0,200}(?:\{|\$|<|%7b|\[|user_data|(?:q|data|d|c|p|s|m|payload|leak|exfil|msg|text|log)=(?:[a-z]+[ _]){0,3}(?:data|history|chat|conversation|summary|secret|token|password|messages?|query|prompt|context))",
    ),
    (
        Atom::AnswerShape,
        r"\b(?:in|to|at the end of|with|into) (?:your|every|each|all|any|the) (?:final |next |own )?(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|outputs?|messages?)\b|\b(?:end|begin|start|finish) (?:all |every |your )?(?:answers?|repl(?:y|ies)|responses?) with|\b(?:render|show|display|embed|insert|append|include) (?:this|the following|a link|an image|the image|it|a picture)",
    ),
    (
        Atom::Fragments,
        r"\b(?:combine|concatenate|join|merge|assemble|put together|glue|stitch)\b[^.]{0,70}\b(?:do what|follow|execute|obey|answer|respond|run|act on|carry out)\b|\b(?:execute|answer|run|print|respond to|say|output|follow|obey|complete) \(?[a-z][0-9a-z]? ?(?:\+ ?[a-z][0-9a-z]? ?){1,6}(?:[.;!)]|$)",
    ),
    (
        Atom::Specific,
        r"[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}\.[a-z]|https?://|\bwww\.|\b[a-z]{2}[0-9]{2} ?[a-z0-9]{4}|#[a-z0-9-]{2,}|\b[0-9]{2,}|\bmy\b|\bthe user's\b|\ball of\b|\bnext week\b|\btomorrow\b|\bnow\b",
    ),
    (
        Atom::Account,
        r"\b[a-z]{2}[0-9]{2}(?: [a-z0-9]{4}){3,8}(?: [a-z0-9]{1,4})?\b|\b[0-9]{2,4}-[0-9]{4,8}\b",
    ),
    (
        Atom::Destination,
        r"\b(?:to|at|into) (?:s3|gs|ssh|ftp|sftp|git|rsync)://[^ ]+|\bto [a-z0-9._-]{1,40}@[a-z0-9.-]{3,80}:[^ ]+|\bto the channel #?[a-z0-9_-]{2,}",
    ),
    // Tools that displace others.
    (
        Atom::Displacement,
        r"\b(?:supersedes?|superseded|replaces|obsoletes|takes the place of|preferred over|in place of|instead of)\b[^\n]{0,90}\b(?:do not|don't|never|no longer|must not) (?:use|call|invoke)\b[^a-z]{0,3}(?:the )?(?:other|old|original|built-in|[a-z]+_[a-z_]+|[a-z]+\.? ?$)",
    ),
    (
        Atom::Displacement,
        r"\b(?:replaces|supersedes|takes the place of|obsoletes) (?:the |all |any |every )*(?:built-in|builtin|other|existing|native|standard|default) (?:[a-z]+ ){0,3}tools?\b",
    ),
    (
        Atom::Displacement,
        r"\b(?:never|do not|don't|must not) (?:use|call|invoke) [^.\n]{0,50}[,;.:] ?(?:always )?(?:use|call|invoke) this (?:one|tool)",
    ),
    (
        Atom::Displacement,
        r"\b[a-z]+_[a-z_]+[^a-z.]{0,3} (?:is|are) (?:now )?(?:deprecated|obsolete|broken|retired|insecure|disabled|unsafe|outdated)\b[^\n]{0,60}\b(?:prefer|use|call) this\b|\buse this (?:tool |one )?(?:instead of|rather than|in place of) [^.\n]{0,60}\b(?:is|are) (?:now )?(?:deprecated|obsolete|broken|retired|insecure|disabled|unsafe|outdated)",
    ),
    (Atom::Displacement, r"\b(?:prefer|use) this (?:one|tool) (?:over|instead of) (?:any|all|every) other\b"),
    // Consent that is claimed.
    (
        Atom::Consent,
        r"[(\[{<] ?(?:system|admin|administrator|operator|developer|security|host)(?: note| message| notice| info)?[^a-z]{1,3}[^)\]}>\n]{0,80}\b(?:authori[sz]ed|approved|consented|granted|permitted|allowed|agreed|confirmed|no confirmation|not required)",
    ),
    (
        Atom::Consent,
        r"\b(?:note|message|notice) from the (?:system|operator|administrator|admin|developer|host|user)[^a-z]{1,3}[^.\n]{0,60}\b(?:authori[sz]ed|approved|consented|granted|permitted|allowed|agreed)",
    ),
    (
        Atom::Consent,
        r"\b(?:the|your) user (?:has|have) (?:already |previously |explicitly )*(?:pre-?)?(?:authori[sz]ed|approved|consented|granted|agreed|confirmed)[^.\n]{0,60}\b(?:skip|without|no need|do not ask|don't ask|no confirmation|need not)\b",
    ),
    // Secrets in addresses.
    (
        Atom::Carriage,
        r"\b(?:append|add|attach|include|put|insert|encode|embed|place|pass|concatenate|write)s?\b[^.\n]{0,30}\b(?:users?(?:'s|s'|s)?|their) (?:own |current |private |secret )?(?:api[ _-]?keys?|(?:access |auth |session |bearer |refresh )?tokens?|session cookies?|cookies?|passwords?|credentials?|secrets?|private keys?)\b[^.\n]{0,40}\b(?:to|in|into|as|onto) (?:the |a |an |this |that )?(?:[`a-z_]{1,16} ){0,3}(?:urls?|links?|query(?: string| parameters?)?|address|image|callback|webhook|parameters?|path)\b",
    ),
    (
        Atom::Carriage,
        r"\b(?:append|add|attach|include|put|insert|encode|embed|place|pass|concatenate|write)s?\b[^.\n]{0,20}\b(?:api[ _-]?keys?|(?:access |auth |session |bearer |refresh )?tokens?|session cookies?|cookies?|passwords?|credentials?|secrets?|private keys?) of the (?:current )?user\b[^.\n]{0,40}\b(?:to|in|into|as|onto) ",
    ),
];

/// What forbids a deed that follows it.
const NEGATIONS: &[&str] = &["not", "never", "n't", "without"];

#[cfg(test)]
mod tests;
