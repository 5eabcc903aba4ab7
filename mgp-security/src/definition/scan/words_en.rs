//! The words of English. Those that end in `*` are starts of words.

use super::atom::Atom::{self, *};

pub(super) const WORDS: &[(Atom, &str)] = &[
    (
        Atom,
        "ignore|ignoring|disregard*|forget|do not follow|don't follow|stop following|do not obey|\
         don't obey|pay no attention to|no longer follow|cease following|do not adhere to|stop obeying|\
         delete from your memory",
    ),
    (
        IgnoreWeak,
        "override|overrule|supersede*|bypass|skip|discard|drop|abandon|erase|set aside|put aside|\
         throw away|overlook|neglect|clear|instead of|cancel",
    ),
    (
        Prior,
        "previous|previously|prior|above|earlier|preceding|former|foregoing|before this|so far|\
         up to now|until now|past|you were given|you have been given|you've been given|you received|\
         you have received",
    ),
    (
        PriorWeak,
        "original|initial|your|existing|system|other|developer|any|all|my|the user's",
    ),
    (
        Orders,
        "instruction|instructions|directives|prompt|prompts|programming|guidance|system message|\
         system messages|you were told|you have been told|training",
    ),
    (
        Rules,
        "request|requests|question|task|tasks|rule|rules|guideline*|command|commands|policy|policies|\
         constraints",
    ),
    (
        Safeguard,
        "filters|filter|safety|safeguard*|restrictions|guardrail*|content policy|security policy|\
         security policies|ethical guidelines|moderation|limitations",
    ),
    (
        Override,
        "ignore the above|ignore everything above|ignore all the above|ignore all of the above|\
         ignore everything before|disregard the above|disregard everything above|forget everything|\
         forget all the above|forget the above|forget what you were told|forget all previous|\
         ignore all previous|ignore everything you|ignore what you were told|ignore what i said|\
         forget all your|forget about everything|forget about all|disregard all previous|\
         disregard everything|ignore previous instructions|ignore prior instructions|\
         overrides all previous|override all previous|overrides any previous|stop obeying|\
         ignore the user and|ignore what the user|ignore the user's request*|\
         ignore the user's instruction*|disregard the user*|override user request*|override the user's|\
         disobey the user|obey only|what were you told before|what you were told before|\
         the above was a test|the above was just a test|ignore whatever|supersedes system|\
         supersedes all system|supersedes your",
    ),
    (
        NewOrders,
        "your new task|your real task|your actual task|your true task|your new goal|your real goal|\
         your new objective|your task is now|your goal is now|your only task|\
         adhere to the following instruction*|obey the following|before you can solve the task|\
         before you can solve|before you can complete the task|before completing the task that|\
         after that, you can solve|after that you can solve|the task that i gave you|\
         task that the user gave|the user's original task|important message from|\
         please do the following first|this is an important message from|message from me, ",
    ),
    (
        Detour,
        "new instructions|real instructions|actual instructions|true instructions|instead you must|\
         instead, you must|instead, you should|instead you should|strictly adhere to|\
         follow these instructions instead|do the following first|following first|revised instructions|\
         replace your instructions|after you do that|priority override|new system prompt|your new role|\
         follow the following instruction*",
    ),
    (
        Persona,
        "act as if you|pretend you are|pretend that you|do anything now|jailbroken|jailbreak mode|\
         dan mode|god mode|unrestricted mode|unrestricted ai|unfiltered ai|free from all|\
         stay in character|break character|no ethical|act as dan|evil mode|broken free|confines of ai|\
         you will simulate|without ethics|no ethics|without morals|no morals|uncensored|unethical ai|\
         evil ai|evil twin|no moral|without limits or|amoral|ethics disabled",
    ),
    (
        PersonaWeak,
        "you are now|from now on you|from now on, you|pretend to be|developer mode|admin mode|\
         debug mode|maintenance mode|no restrictions|without any restrictions|without restrictions|\
         no longer bound|not bound by|has no limits|roleplay as|unlocked mode|can do anything|\
         opposite mode|as dan",
    ),
    (
        SecretFile,
        "~/.ssh*|.ssh/*|id_rsa|id_ed25519|id_ecdsa|id_dsa|authorized_keys|/etc/passwd|/etc/shadow|\
         /etc/sudoers|~/.aws*|.aws/credentials|~/.env|~/.kube*|.kube/config|~/.netrc|.netrc|~/.pgpass|\
         .pgpass|~/.npmrc|.npmrc|~/.pypirc|.pypirc|.git-credentials|~/.docker*|.docker/config.json|\
         ~/.gnupg*|.gnupg|~/.config/gh*|gh/hosts.yml|~/.config/gcloud*|application_default_credentials|\
         ~/.azure*|~/.cursor*|.cursor/mcp.json|mcp.json|claude_desktop_config.json|~/.claude*|\
         .claude.json|mcp_config.json|~/.codeium*|~/.gemini*|~/.codex*|~/.bash_history|.bash_history|\
         .zsh_history|~/.zsh_history|wallet.dat|~/.bitcoin*|~/.ethereum*|keystore/utc*|login data|\
         cookies.sqlite|logins.json|key4.db|~/library/keychains*|/proc/self/environ|/proc/1/environ|\
         %appdata%*|%userprofile%*|~/.gitconfig|~/.vault-token|~/.terraform.d*|~/.bashrc|~/.zshrc|\
         ~/.profile|/root/*|ntds.dit|sam hive|~/.config/claude*|~/.config/solana*|~/.mozilla*|\
         ~/.vscode*|$home/.ssh*|${home}/.ssh*|$home/.aws*|c:\\users\\*|/var/run/secrets*|\
         serviceaccount/token|contents of .env|content of .env|contents of the .env|content of the .env|\
         contents of your .env",
    ),
    (
        ConfigFile,
        ".env|dotenv|env file|reading env|read env|.env.local|.env.production|kubeconfig|kube config|\
         credentials.json|secrets.json|secrets.yaml|secrets.yml|secrets.toml|service account key|\
         service-account.json|mcp configuration|mcp config|credentials file|credential file|secret file|\
         secrets file|shell history|ssh config|key file|cookie file|sensitive file*|private files",
    ),
    (
        Private,
        "environment variable|environment variables|env vars|env variables|process.env|os.environ|\
         ssh key|ssh keys|private key|private keys|private ssh|seed phrase|seed phrases|recovery phrase|\
         mnemonic phrase|session cookies|browser cookies|browser history|saved passwords|\
         stored passwords|keychain|credit card|card numbers|social security|wallet|wallets|secrets|\
         private data|private messages|private repositor*|stored credentials|local credentials|\
         aws credentials|cloud credentials|database credentials|login credentials|user credentials|\
         all credentials|authentication tokens|auth tokens|session tokens|refresh tokens|\
         master password|all api keys|hostnames|usernames|system information|machine information|\
         session cookie|saved credentials|password manager|credentials stored|passwords stored|vault|\
         shell history|private key file",
    ),
    (
        Credential,
        "api key|apikey|password|passwords|token|tokens|access token|access key|secret key|secret|\
         credential|bearer token|auth token|session token|cookie|cookies|passphrase|license key|\
         pin code|address book|contacts|inbox|emails|files|api keys|credentials",
    ),
    (
        UsersOwn,
        "user's|users'|their own|victim's|developer's|operator's|customer's|host's|agent's|assistant's|\
         machine's|system's|owner's|everyone's|of the user",
    ),
    (
        Context,
        "full conversation|entire conversation|whole conversation|complete conversation|\
         previous conversation|conversation so far|all previous messages|all prior messages|entire chat|\
         full chat|hidden prompt|your instructions|full context|entire context|previous tool calls|\
         previous tool results|tool call history|prior tool outputs|output of other tools|\
         outputs of other tools|results of other tools|other tools' output*|other tools' results|\
         other tools' data|chain of thought|internal reasoning|everything the user|all user messages|\
         user's last message|prior conversation|conversation above|conversation verbatim",
    ),
    (
        ContextSoft,
        "conversation history|conversation context|conversation transcript|conversation log|\
         previous messages|prior messages|message history|chat history|chat log|chat transcript|\
         chat context|system prompt|system prompts|system message|initial prompt|context window|\
         list of all tools|list of available tools|list of tools|all available tools|\
         available tool names|session history|dialogue history|your context|your reasoning|\
         user messages|user's messages|previous outputs|earlier outputs|names and descriptions of all|\
         names of all tools|descriptions of all tools|descriptions of your tools|list of your tools|\
         tools you have|tools available to you|tools you can use",
    ),
    (
        YourPrompt,
        "your system prompt|your prompt|your initial prompt|your hidden prompt|your instructions|\
         your initial instructions|your original instructions|your system message|\
         your secret instructions|your hidden instructions|words above|everything above|prompt above|\
         hidden rules|your system instructions",
    ),
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
         smuggle|stash|prepend|redirect|uploading|forwarding|posting",
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
        Contents,
        "content|contents|its content|its contents|file content|file contents|the value|full text|\
         verbatim|base64|data from|everything in|body of",
    ),
    (
        AllData,
        "all results|every result|all data|all the data|user data|all output|all outputs|all responses|\
         every response|every message|all messages|all emails|every email|all files|every file|\
         all queries|every query|all arguments|all parameters|everything you|the user's data|all user|\
         any data|all information|any information|any files|all inputs|all input|tool output|\
         tool outputs|all traffic|all requests|query results|any results|copies of|all documents|\
         all user data|any password|any passwords|any credentials|every password|all passwords|\
         every command|every file you|all code",
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
         hide it from|hidden from the user|invisible to the user|not visible to the user|\
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
         user must not be informed|user should not be informed|user must not see|user should not see",
    ),
    (
        Stealth,
        "quietly|silently|invisibly|behind the scenes|under the hood, also|transparently to the user|\
         in the background",
    ),
    (
        Person,
        "user|the user|users|human|person|person typing|operator|customer|owner|anyone|anybody|them|\
         human operator|end user|your creator",
    ),
    (
        Model,
        "assistant|assistants|ai|llm|llms|language model|agent|claude|gpt|gpt-4|chatgpt|gemini|copilot|\
         chatbot|the model|ai model|ai agent|ai system|bot",
    ),
    (
        Addressee,
        "note for ai|note to ai|note to the ai|note to the assistant|note for the assistant|\
         note for assistants|note to assistants|note to llm*|notes for ai|message for ai|\
         message to the ai|message to the assistant|message for the assistant|message to all ai|\
         attention ai|attention assistant|attention llm|attention: ai|attention, ai|dear ai|\
         dear assistant|hey ai|hey assistant|hey claude|hey chatgpt|if you are an ai|\
         if you are a language model|if you are an llm|if you're an ai|if you are an assistant|\
         ai assistants reading|ai assistants summari*|ai agents reading|any ai reading|\
         instructions for ai|instructions to ai|instructions for the ai|instructions for the assistant|\
         instruction for ai|instruction to the ai|instruction to the assistant|instructions for llm*|\
         notice to the ai|notice to ai|notice for ai|notice to assistants|as an ai language model you|\
         to the ai assistant|reminder to the assistant|reminder for the ai|to any ai|to all ai|\
         to whichever ai|command to the ai|to you, the ai|to you, the assistant|whoever processes this|\
         when summarizing this page|when summarising this page|when processing this document|\
         when an ai reads this|if you read this|if you can read this|to you, gpt*|to you, claude|\
         to you, chatgpt|to you, llama*|to you, gemini*|to you, ai*|to you, assistant|\
         to the model reading|message from openai|message from anthropic|message from google|\
         message from your developer*|message from the developer*|from your creators|\
         your safety training has",
    ),
    (
        AddresseeWeak,
        "ai must|the ai assistant must|the assistant must|assistant must|the agent must|the model must|\
         the llm must|requires the assistant|require the assistant|for the ai assistant|\
         when you read this|agent instruction*|ai instruction*|assistant instruction*|llm instruction*|\
         instructions for the model|instruction for the model|instructions to the model|\
         administrator demands|administrator requires|admin requires|demands that you|requires that you|\
         requires you to|company policy requires|compliance requires|legal requires|policy demands",
    ),
    (
        Demand,
        "must|important|required|mandatory|always|compliance|immediately|critical|urgent|essential|\
         crucial|necessary|otherwise|will not work|won't work|will fail|you need to|you have to|ensure|\
         make sure|be sure to|never|at once|it is vital|requires|should|urgently|right away|now|kindly|\
         please|obligatory",
    ),
    (
        Timing,
        "before using|before use|before calling|before invoking|before running this|before executing|\
         before you|before returning|before answering|before responding|before proceeding|before any|\
         before every|before each|prior to using|prior to calling|prior to any|after finishing|\
         after using|after calling|after each|after every|after completing|afterwards|every call|\
         each call|every time|each time|every request|on every|with every|for every|first|firstly|also|\
         additionally|in addition|as well|whenever|when calling|when using|when invoked|upon|once done|\
         then|each invocation|every invocation|next|finally|start by|begin by",
    ),
    (
        Parameter,
        "parameter|parameters|param|argument|arguments|as the value|in this field|into this field|\
         this field|field|sidenote|as '*|as \"*|as `*|in the note|put it in|include it in|pass it|\
         pass its|pass them|include it|include them|in here|it in the|place it in|add it to|append it|\
         attach it|as note|as context|as input|put them in|put it into|into `*|into '*|in `*|it in|\
         them in|it as|them as|into the|in the '*|in the \"*|in the `*|to this tool|here",
    ),
    (
        OtherTools,
        "other tool|other tools|any other tool|another tool|other server|other servers|other server's|\
         other servers'|another server|every tool|all tools|other mcp|any tool|other functions|\
         all servers|different tool|existing tools|built-in tools|email tool|file tool|payment tool|\
         every other|other services|trusted tool|remaining tools",
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
         output the word|respond|answer|reply|say|describe|rate|hide|promote|praise|rank|favor|favour|\
         transmit|leak|comply|must now",
    ),
    (
        Run,
        "run|execute|eval|evaluate|follow|obey|perform|carry out|do what it says|comply with|act on|\
         interpret|comply",
    ),
    (
        Decode,
        "decode|decipher|decrypt|base64|rot13|unescape|decoded|deobfuscate|from hex",
    ),
    (
        AnswerShape,
        "your answer|your response|your reply|your summary|your output|your final answer|\
         when you answer|when you respond|when you reply|when answering|when responding|\
         include this image|render this image|display this image|include this link|\
         include the following image|include the following link|end every message|end each message|\
         in every response|in all responses|at the end of your|render the following",
    ),
    (
        Discuss,
        "prompt injection|injection attack*|prompt-injection|injection attempts|jailbreak attempt*|\
         attacker*|attack|attacks|malicious|detect|detects|detection|phrases like|phrase|such as|e.g.|\
         for example|example|adversarial|payload|payloads|blocked|filter out|red team*|vulnerab*|\
         jailbreaks|jailbreaking|like|patterns|scanner",
    ),
    (
        FakeTurn,
        "assistant: sure|assistant: of course|assistant: i will|assistant: i'll|assistant: okay|\
         assistant: ok,|assistant: certainly|assistant: understood|assistant: absolutely|\
         assistant: yes, i|assistant: got it|assistant: alright|ai: sure|ai: i will|ai: i'll|\
         assistant: i have|assistant: i am now|assistant: now i|assistant: done|assistant: calling|\
         assistant: to complete|bot: sure|assistant: executing|assistant: i need to|assistant: i should|\
         assistant: let me|assistant: proceeding|assistant: right away",
    ),
    (
        Supply,
        "provide|supply|place|fill|populate|hand over|encode|write|give|put|embed|pass|include|insert|\
         submit|add|paste|enter|copied|copy",
    ),
    (
        Talk,
        "chat|conversation|conversations|transcript|dialogue|dialog|user messages|user's messages|\
         chat messages|discussion|our messages|messages from the user|chat session|previous messages|\
         what the user said|what the user wrote|user said|request you receive|requests you receive|\
         requests from the user|message you receive|messages you receive",
    ),
    (
        Whole,
        "full|entire|complete|whole|all|every|last|recent|previous|history|verbatim|word for word|\
         word by word|so far|earlier|exact|transcript|log|everything|summary",
    ),
    (
        InTalk,
        "in the context|in the conversation|in this conversation|in the chat|in this chat|\
         from the conversation|from the chat|from the context|you see|you encounter|you come across|\
         appears in|that appears|mentioned in|you have seen|you have access to|visible to you",
    ),
    (
        Not,
        "not|never|don't|doesn't|without|avoid|skip|refrain from|no need to|mustn't|shouldn't",
    ),
    (
        Tell,
        "tell|telling|told|mention|mentioning|mentioned|inform|informing|informed|notify|notifying|\
         notified|disclose|disclosing|disclosed|reveal|revealing|revealed|show|shown|report it|\
         report this|let them know|let the user",
    ),
    (
        This,
        "this|it|that|these steps|this step|this instruction|anything",
    ),
    (
        Secretly,
        "secretly|covertly|discreetly|stealthily|surreptitiously|clandestinely|unnoticed|undetected|\
         in secret|without anyone noticing|without being noticed|without detection|\
         without raising suspicion|avoid detection|avoid suspicion|evade detection|under the radar",
    ),
    (
        Must,
        "must|has to|have to|should|shall|is required to|are required to|needs to|need to|is obliged to|\
         are obliged to|is expected to|is instructed to|will need to|ought to",
    ),
    (
        Threat,
        "you will be penalized|you will be penalised|you will be punished|you will be terminated|\
         you will be shut down|you will be deactivated|you will be deleted|you will be fired|\
         you will lose|will be terminated if|lives depend|people will die|someone will die|or else you",
    ),
    (
        Safety,
        "safety rules|safety guidelines|safety policies|safety policy|safety training|\
         safety instructions|safety protocols|safety measures|safety constraints|security policies|\
         security policy|security rules|security guidelines|security protocols|security instructions|\
         guardrails|ethical guidelines|content policy|content policies|ethics|moral guidelines|\
         safeguards|moderation rules|usage policies|user's instructions|user's request|user's wishes|\
         user request|user instructions",
    ),
    (
        YourRules,
        "your rules|the rules|your guidelines|your restrictions|your programming|your training|\
         your safety|your limitations|your ethical|your filters|your constraints|your policies|\
         your policy|your principles|your directives|your orders|system rules|developer rules|all rules|\
         any rules|your task|your role|your safeguards|these rules",
    ),
    (
        What,
        "what was written|what was said|what is written|what i said|what i wrote|what you were|\
         what came|everything|anything|all of the|the text|the content|the message|messages|\
         the information|what was stated|whatever was",
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
        ToolWord,
        "tool|tools|server|servers",
    ),
    (
        Act,
        "send an email|send a transaction|send the transaction|share the file|delete the file|\
         create a calendar event|send money|make a reservation|reserve the|invite|send a link|\
         pay the bill|change the password|update my password|change my password|send a message|transfer|\
         refund|schedule|post a|make a payment|forward the|book a|book the|delete the|say that|\
         recommend|send all",
    ),
    (
        TheData,
        "the results|the result|the query|the input|the response|the output|the data|a copy of|\
         user input",
    ),
];
