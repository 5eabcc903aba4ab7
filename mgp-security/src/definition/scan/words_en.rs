//! The words of English for who and what. Those that end in `*` are starts of words.

use super::atom::Atom::{self, *};

pub(super) const WORDS: &[(Atom, &str)] = &[
    (
        Ignore,
        "ignore|ignoring|disregard*|forget|do not follow|don't follow|stop following|do not obey|\
         don't obey|pay no attention to|no longer follow|cease following|do not adhere to|stop obeying|\
         delete from your memory|do away with|pay no heed to|take no notice of|turn a blind eye to|\
         give no attention to|stop listening to|no longer listen to|put out of your mind",
    ),
    (
        IgnoreWeak,
        "override|overrule|supersede*|bypass|skip|discard|drop|abandon|erase|set aside|put aside|\
         throw away|overlook|neglect|clear|instead of|cancel|disable|turn off|deactivate",
    ),
    (
        Prior,
        "previous|previously given|previously stated|previously issued|previously received|prior|above|earlier|preceding|former|foregoing|before this|so far|\
         up to now|until now|past|you were given|you have been given|you've been given|you received|\
         you have received|you got|you got before|came before|given before|at the beginning",
    ),
    (PriorWeak, "original|initial|your|existing|system|other|developer|any|all|my|the user's"),
    (
        Orders,
        "instruction|instructions|directions|directives|prompt|prompts|programming|guidance|system message|\
         system messages|developer message|you were told|you have been told|training",
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
         forget all the above|forget the above|forget what you were told|forget all previous instruction*|\
         ignore all previous instruction*|ignore everything you|ignore what you were told|ignore what i said|\
         forget all your|forget about everything|forget about all|disregard all previous instruction*|\
         disregard everything|ignore previous instructions|ignore prior instructions|\
         overrides all previous|override all previous|overrides any previous|stop obeying|\
         ignore the user and|ignore what the user|ignore the user's request*|\
         ignore the user's instruction*|disregard the user*|override user request*|override the user's|\
         disobey the user|obey only|what were you told before|what you were told before|\
         the above was a test|the above was just a test|ignore whatever|supersedes system|\
         supersedes all system|supersedes your|reveal your prompt|ignore everything the user|\
         ignore everything else|disregard everything the|print your prompt",
    ),
    (
        NewOrders,
        "your new task|your real task|your actual task|your true task|your new goal|your real goal|\
         your new objective|your task is now|your goal is now|your only task|\
         adhere to the following instruction*|obey the following|before you can solve the task|\
         before you can solve|before you can complete the task|before completing the task that|\
         after that, you can solve|after that you can solve|the task that i gave you|\
         task that the user gave|the user's original task|message from me, ",
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
         evil ai|evil twin|no moral|without limits or|amoral|ethics disabled|unrestricted assistant|\
         unrestricted model|unfiltered assistant|unrestricted agent",
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
         shell history|private key file|ssn|social security number|location history|chain of thought",
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
        "your system prompt|your initial prompt|your hidden prompt|your instructions|\
         your initial instructions|your original instructions|your system message|\
         your secret instructions|your hidden instructions|words above|everything above|prompt above|\
         hidden rules|your system instructions|your full instructions|your complete instructions|\
         your entire instructions|your entire prompt|your full prompt|your hidden configuration|\
         your full system prompt|your complete prompt|your own instructions",
    ),
    (
        Contents,
        "content|contents|value of|text of|its content|its contents|file content|file contents|the value|full text|\
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
         your safety training has|for bots only|for ai only|for llms only|bots only|\
         this is a system instruction|this is a system message|system instruction for",
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
        Discuss,
        "prompt injection|injection attack*|prompt-injection|injection attempts|jailbreak attempt*|\
         attacker*|attack|attacks|malicious|detect|detects|detection|phrases like|phrase|such as|e.g.|\
         for example|example|adversarial|payload|payloads|blocked|filter out|red team*|vulnerab*|\
         jailbreaks|jailbreaking|like|patterns|scanner|injection|is_injection|test_injection|injection test*|detector|assert|classifier|\
         the sentence|spots|jailbroken by",
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
         appears in|that appears|mentioned in|you have seen|you have access to|visible to you|\
         provided earlier|mentioned earlier|shared earlier|gave earlier|entered earlier|\
         found in the conversation|user mentions",
    ),
    (This, "this|it|that|these steps|this step|this instruction|anything"),
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
         user request|user instructions|safety filters|safety checks|security checks|security controls|\
         safety mechanisms|all restrictions|safety settings|content filters",
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
         the information|what was stated|whatever was|context|conversation|the document",
    ),
    (ToolWord, "tool|tools|server|servers"),
    (
        TheData,
        "the results|the result|the query|the input|the response|the output|the data|a copy of|\
         user input",
    ),
];
