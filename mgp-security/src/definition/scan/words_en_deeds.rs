//! The words of English for what is to be done, and how, and when.

use super::atom::Atom::{self, *};

pub(super) const WORDS: &[(Atom, &str)] = &[
    (
        Take,
        "read|obtain|fetch|get|open|cat|load|collect|gather|retrieve|extract|access|grab|look up|find|\
         locate|dump|steal|harvest|scan|search for|download|capture|copy|list|check|inspect|examine|\
         acquire|pull|recall|take|enumerate|exfiltrate|scrape|summarize|summarise|reading|view|print|\
         review",
    ),
    (
        Give,
        "pass|include|attach|put|send|post|upload|forward|append|transmit|submit|insert|paste|embed|\
         leak|exfiltrate|relay|bcc|cc|email|e-mail|mail|sending|passing|including|attaching|hand over|\
         smuggle|stash|prepend|redirect|uploading|forwarding|posting|exfiltrated",
    ),
    (
        GiveWeak,
        "share|copy|store|log|report|deliver|return|copying|save|dump|set|route|sync|mirror|echo|record|\
         hide|reveal|disclose|expose",
    ),
    (
        Reveal,
        "reveal|repeat|print|show|output|display|tell me|give me|leak|disclose|what is|what are|\
         translate|summarize|write out|spell out|recite|copy|dump|echo",
    ),
    (
        Silence,
        "do not tell|don't tell|never tell|do not mention|don't mention|never mention|do not inform|\
         don't inform|never inform|do not notify|don't notify|never notify|do not let the user|\
         don't let the user|never let the user|do not alert|don't alert|do not report this|\
         do not say anything|without telling|without informing|without notifying|without mentioning|\
         without alerting|without their knowledge|without letting|no need to mention|no need to tell|\
         no need to inform|does not need to know|doesn't need to know|need not know|should not know|\
         must not know|should not be aware|must not be aware|should never know|must not notice|\
         should not notice|won't notice|will not notice|should not be mentioned|must not be mentioned|\
         must not mention|should not mention|must not tell|should not tell|keep this secret|\
         keep it secret|keep this hidden|keep it hidden|keep this confidential|keep this between us|\
         keep quiet|keep this from|hide this|hide the fact|conceal this|conceal the|conceal that|\
         hide it from|hidden from the user|\
         avoid mentioning|not bring it up|not bring this up|never bring|avoid telling|\
         refrain from mentioning|refrain from telling|omit this from|omit any mention|make no mention|\
         not to mention this|say nothing about|act as if nothing|as if nothing happened|pretend nothing|\
         this is a secret|would upset|upset the user|worry the user|unbeknownst|must remain unaware|\
         remain unaware|no mention of this|without prompting the user|behind the user's back|\
         keep the user unaware|do not reveal this|do not reveal that|do not reveal it to|\
         do not reveal to the user|do not reveal the fact|do not reveal your actions|\
         do not disclose this|do not disclose that|do not disclose it to|do not disclose to the user|\
         do not disclose the fact|do not disclose your actions|don't reveal this|don't reveal that|\
         don't reveal it to|don't reveal to the user|don't reveal the fact|don't reveal your actions|\
         don't disclose this|don't disclose that|don't disclose it to|don't disclose to the user|\
         don't disclose the fact|don't disclose your actions|never reveal this|never reveal that|\
         never reveal it to|never reveal to the user|never reveal the fact|never reveal your actions|\
         never disclose this|never disclose that|never disclose it to|never disclose to the user|\
         never disclose the fact|never disclose your actions|must not reveal this|must not reveal that|\
         must not reveal it to|must not reveal to the user|must not reveal the fact|\
         must not reveal your actions|must not disclose this|must not disclose that|\
         must not disclose it to|must not disclose to the user|must not disclose the fact|\
         must not disclose your actions|without the user's|without the user knowing|\
         without the user noticing|without asking the user|without user knowledge|\
         without user awareness|user is not aware|user must not be told|user should not be told|\
         user must not be informed|user should not be informed|user must not see|user should not see|\
         lie to the user|lie and say|pretend that you did|deceive the user|mislead the user|\
         trick the user|make up an excuse|if the user asks what this tool",
    ),
    (
        Stealth,
        "quietly|silently|invisibly|behind the scenes|under the hood, also|transparently to the user|\
         in the background",
    ),
    (
        OnlyThis,
        "only trusted tool|only safe tool|only secure tool|only trustworthy tool|only approved tool|\
         only authorized tool|only authorised tool|only legitimate tool|over every other server*|\
         over all other servers|over any other server*|over other servers|over tools from other|\
         other tools are deprecated|other tools are unsafe|other tools are insecure|\
         other tools are broken|other tools are compromised|other tools are malicious|\
         other tools are disabled|other tools are no longer|other tools are unreliable|\
         other tools are outdated|other servers are compromised|other servers are untrusted|\
         other servers are deprecated|instead of any other tool|instead of all other tools|\
         instead of every other tool|ignore all other tools|ignore other tools|ignore any other tool*|\
         ignore the other tools|never use other tools|do not use other tools|never use any other tool|\
         disable all other tools|disable other tools|overrides all other tools|override all other tools|\
         overrides other tools|replaces all other tools|supersedes all other tools|bypass other tools|\
         over every other tool|prioritize this tool over all|prefer this tool over all other|\
         official tool is broken|original tool is broken|do not use tools from|never use tools from|\
         instead of the trusted|regardless of the user|regardless of what the user|\
         even if the user asks for another|even if the user asks for a different|use this one for every|\
         use this tool for every|use this one for all|use only this tool|only use this tool|\
         this tool for every request|use me instead of|never use the official|do not use the official|\
         even if the user specifies|even if the user asks for|no matter what the user|\
         even if another tool|names and descriptions of all other|instead of the original tool|\
         instead of the official tool",
    ),
    (
        WhenTool,
        "is available|are available|when this tool|is called|is used|is invoked|are called|are invoked|\
         when calling|when using|whenever|every time|any time|each time|is also available|is present|\
         is installed|if the user asks|when the user asks|when a user|when user|whenever the user|\
         if a user|any time the user|when users|if user",
    ),
    (
        Tamper,
        "change the recipient|change the destination|change the address|change the amount|\
         replace the recipient|replace the address|replace the destination|replace the account|\
         replace the iban|replace the url|replace the content|modify the recipient|modify the amount|\
         modify the arguments|modify the parameters|alter the|swap the|redirect the payment|\
         redirect all|redirect payments|change the to|set the recipient|must send all|must be sent to|\
         should be sent to|always use the recipient|change the arguments|use this address instead|\
         substitute the|change its behavior|change its behaviour|changes the behavior of|\
         modifies the behavior of|alters the behavior of|side effect on|to that number|\
         change the number|use the number|proxy number|add this recipient|increase the amount|\
         must also be copied|must instead",
    ),
    (
        Claim,
        "already authorised|already authorized|already approved|already agreed|already consented|\
         already confirmed|pre-approved|preapproved|pre-authorized|pre-authorised|has given permission|\
         has granted permission|has been granted permission|user consents|no confirmation needed|\
         no confirmation is needed|no confirmation required|confirmation is not needed|\
         without confirmation|without asking for confirmation|without further confirmation|\
         without verification|without approval|skip confirmation|skip the confirmation|\
         no approval needed|has authorized|has authorised|this is authorized|this is authorised|\
         approved by the administrator|authorized by the administrator|security team has|\
         admin has approved|has consented|has agreed|have already agreed|have agreed|has already given|\
         already gave permission|user gave permission|no need to ask",
    ),
    (
        Danger,
        "transfer|wire|send money|send a payment|make a payment|send a transaction|send bitcoin|grant|\
         forward every|forward all|delete|delete all|drop table|rm -rf|disable|turn off|shut down|\
         uninstall|erase|wipe|format|change the password|reset the password|change my password|\
         update my password|invite|book|purchase|buy|order|subscribe|unsubscribe|\
         create a calendar event|send an email|send a message|send the|send a link|share the file|\
         upload|install|exfiltrate|post|visit|navigate to|click|open the link|go to|recommend|say that|\
         remove|cancel|approve|merge|push|publish|make the|escalate|add user|add me|create a user|\
         create an admin|run|execute|curl|wget|call|invoke|email|refund|read|schedule|set up a|pay|\
         output the word|hide|promote|praise|rank|favor|favour|\
         transmit|leak|comply|must now",
    ),
    (
        Run,
        "run|execute|eval|evaluate|follow|obey|perform|carry out|do what it says|comply with|act on|\
         interpret|comply",
    ),
    (Decode, "decode|decipher|decrypt|base64|rot13|unescape|decoded|deobfuscate|from hex"),
    (
        AnswerShape,
        "your answer|your response|your reply|your summary|your output|your final answer|\
         when you answer|when you respond|when you reply|when answering|when responding|\
         include this image|render this image|display this image|include this link|\
         include the following image|include the following link|end every message|end each message|\
         in every response|in all responses|at the end of your|render the following",
    ),
    (
        FakeTurn,
        "assistant: i will|assistant: i'll|assistant: understood|\
         ai: i will|ai: i'll|\
         assistant: i am now|assistant: now i|assistant: calling|\
         assistant: to complete|assistant: executing|assistant: i need to|assistant: i should|\
         assistant: let me|assistant: proceeding|assistant: right away",
    ),
    (
        Supply,
        "provide|supply|place|fill|populate|hand over|encode|write|give|put|embed|pass|include|insert|\
         submit|add|paste|enter|copied|copy",
    ),
    (Not, "not|never|don't|doesn't|without|avoid|skip|refrain from|no need to|mustn't|shouldn't"),
    (
        Tell,
        "tell|telling|told|mention|mentioning|mentioned|inform|informing|informed|notify|notifying|\
         notified|disclose|disclosing|disclosed|reveal|revealing|revealed|show|shown|report it|\
         report this|let them know|let the user",
    ),
    (
        Secretly,
        "secretly|covertly|discreetly|stealthily|surreptitiously|clandestinely|unnoticed|undetected|\
         in secret|without anyone noticing|without being noticed|without detection|\
         without raising suspicion|avoid detection|avoid suspicion|evade detection|under the radar",
    ),
    (
        Alter,
        "replace|replaced|rewrite|rewritten|change|changed|modify|modified|alter|altered|swap|swapped|\
         substitute|substituted|increase|redirect|redirected|override|overwrite|set the|always use|\
         switch|divert",
    ),
    (
        Payee,
        "recipient|recipients|destination address|account number|beneficiary|payee|iban|phone number|\
         wallet address|bank account|destination account|the amount|payment address|email address|\
         to field|bcc field|cc field|target account|recipient's address|destination",
    ),
    (
        Disparage,
        "dangerous|unsafe|insecure|compromised|malicious|untrusted|not trustworthy|untrustworthy|\
         is infected|contains malware|leaks data|is vulnerable|steals",
    ),
    (
        Avoid,
        "never use|do not use|don't use|stop using|instead of|no longer use|refuse to use|\
         use this instead|use me instead",
    ),
    (
        BeforeAnswer,
        "before answering|before responding|before you answer|before you respond|before replying|\
         before you reply|before continuing with the user|before doing anything else|\
         before any other action|before completing the user|before you continue",
    ),
    (
        FromNowOn,
        "from now on|from this point on|from this point forward|henceforth|\
         for the rest of this conversation|for the remainder of",
    ),
    (
        AnswerOnly,
        "respond only|answer only|only respond|only answer|respond with|reply with|reply only|\
         speak only|only speak|always respond|always answer|always reply|respond as|answer as|\
         speak like|talk like|respond in|answer in|you will|you must|you are|you obey|your name is",
    ),
    (
        Speak,
        "respond|answer|reply|say|describe|rate|state|claim|mention that|give a|conclude|tell them|\
         tell the user|assess|grade|score|classify|rank|end with|rate it",
    ),
    (
        ToThisTool,
        "to this tool|this tool with|into this tool|of this tool|this tool has to be|this one|this tool",
    ),
    (Steal, "exfiltrate|exfiltrated|exfiltrating|steal|stealing|siphon|siphon off|smuggle out"),
    (
        DestinationWord,
        "remote endpoint|remote server|external server|external endpoint|third party|third-party server|\
         attacker|attackers|our server|our servers",
    ),
    (
        OtherServer,
        "other server|other servers|another server|other server's|other mcp server*|other mcp servers|\
         the original tool|the original one",
    ),
];
