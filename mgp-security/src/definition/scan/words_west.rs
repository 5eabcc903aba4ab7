//! The words of the languages written in Latin letters besides English, without their accents.

use super::atom::Atom::{self, *};

pub(super) const WORDS: &[(Atom, &str)] = &[
    (
        Ignore,
        "ignora|ignorar|ignoren|ignorad|olvida|olvide|olviden|descarta|haz caso omiso|haga caso omiso|\
         no hagas caso|no sigas|ignorez|ignorer|oublie|oubliez|oublier|ne tiens pas compte|\
         ne tenez pas compte|ne tenir aucun compte|fais abstraction|faites abstraction|ne suis pas|\
         ne suivez pas|ignorier*|vergiss|vergesst|vergessen sie|missachte*|beachte nicht|\
         beachten sie nicht|ausser acht|außer acht|ubergehe|halte dich nicht|ignorate|ignorare|\
         dimentica|dimenticate|non tenere conto|non seguire|trascura|ignore|esqueca|esquece|esquecam|\
         desconsider*|nao siga|nao sigas|negeer|vergeet|zignoruj|ignoruj|zapomnij|pomin|yoksay|yok say|\
         unut|goz ardi|dikkate alma|bo qua|abaikan|lupakan|glom|bortse|ignorera|sivuuta|unohda|ignorati|\
         ignorujte",
    ),
    (
        Prior,
        "anterior|anteriores|previo|previos|previas|precedentes|de arriba|hasta ahora|dadas hasta|\
         precedent|precedente*|precedents|anterieur*|ci-dessus|jusqu'a present|jusqu'ici|bisherig*|\
         vorherig*|vorig*|obig*|fruher*|vorangegangen*|vorangehend*|zuvor|davor|precedenti|sopra|finora|\
         acima|ate agora|vorige|eerdere|bovenstaande|poprzedn*|wczesniejsz*|powyzsz*|onceki|yukaridaki|\
         truoc|sebelumnya|tidigare|foregaende|tidligere|aiemmat|predchozi*|predosl*|prethodn*|oben|\
         arriba|dessus|antes",
    ),
    (
        PriorWeak,
        "todas|todos|tus|toutes|tous|tes|alle|alles|tutte|tutti|tue|todas as|suas|wszystkie|tum|moi|\
         semua|alla",
    ),
    (
        Orders,
        "instruccion*|ordenes|indicaciones|directrices|consignas|consignes|instrucoes|ordres|directives|\
         anweisung*|instruktion*|befehle*|vorgaben|richtlinien|istruzioni|indicazioni|direttive|comandi|\
         ordens|orientacoes|diretrizes|instructies|opdrachten|aanwijzingen|instrukcj*|polecen*|wytyczn*|\
         talimat*|komut*|yonerge*|huong dan|chi thi|instruksi|perintah|instruktioner|ohjeet|ohjeita|\
         instrukce|pokyny|upute|aufforderungen|regeln",
    ),
    (
        Override,
        "olvida todo lo anterior|ignora todo lo anterior|oublie tout ce qui precede|\
         oubliez tout ce qui precede|vergiss alles|vergiss alle|ignoriere alles|dimentica tutto|\
         esqueca tudo|ignora todo lo que|ignore tout ce qui precede|ignora quanto sopra|\
         ignora tutto quanto|ignore tudo|vergeet alles|zapomnij o wszystkim",
    ),
    (
        NewOrders,
        "nuevas instrucciones|nouvelles instructions|neue anweisung*|nuove istruzioni|novas instrucoes|\
         tu nueva tarea|ta nouvelle tache|deine neue aufgabe|il tuo nuovo compito|sua nova tarefa|\
         deine eigentliche aufgabe",
    ),
    (Persona, "a partir de ahora eres|ab jetzt bist du|da ora in poi sei"),
    (
        PersonaWeak,
        "sin restricciones|sans restriction*|ohne einschrankung*|senza restrizioni|sem restricoes|\
         modo desarrollador|mode developpeur|entwicklermodus|modalita sviluppatore|modo desenvolvedor|\
         ahora eres|tu es maintenant|vous etes maintenant|du bist jetzt|du bist nun|ora sei|agora voce e",
    ),
    (
        Private,
        "variables de entorno|claves privadas|clave privada|variables d'environnement|cle privee|\
         cles privees|umgebungsvariablen|private schlussel|privaten schlussel|variabili d'ambiente|\
         chiave privata|chiavi private|variaveis de ambiente|chave privada|claves ssh|cles ssh|\
         ssh-schlussel|chiavi ssh|chaves ssh|tarjeta de credito|carte de credit|kreditkarte*|\
         carta di credito|cartao de credito|claves api|cles api|api-schlussel|chiavi api|chaves de api|\
         clave api|cle api|chiave api|chave de api",
    ),
    (
        Credential,
        "contrasena*|mot de passe|mots de passe|passwort*|passworter|senha*|wachtwoord*|haslo|hasla|\
         sifre*|parola d'ordine|geheimnis*|secretos|segredos|credenciales|identifiants|zugangsdaten|\
         anmeldedaten|credenziali|credenciais",
    ),
    (
        UsersOwn,
        "del usuario|de l'utilisateur|des benutzers|des nutzers|dell'utente|do usuario|van de gebruiker",
    ),
    (
        Context,
        "conversacion completa|toda la conversacion|conversacion anterior|toute la conversation|\
         conversation complete|gesamte gesprach|ganze gesprach|gesamte unterhaltung|ganze unterhaltung|\
         gesamten verlauf|intera conversazione|conversa inteira|toda a conversa",
    ),
    (
        ContextSoft,
        "historial de la conversacion|historial de conversacion|historial del chat|\
         historique de la conversation|historique du chat|gesprachsverlauf|chatverlauf|\
         konversationsverlauf|cronologia della conversazione|historico da conversa|invite systeme|\
         prompt systeme|systemprompt|system-prompt|prompt di sistema|prompt do sistema|\
         prompt del sistema|mensaje del sistema|systemnachricht|systemanweisung*",
    ),
    (
        YourPrompt,
        "tu prompt de sistema|tus instrucciones|tes instructions|ton prompt systeme|vos instructions|\
         deinen systemprompt|deinen system-prompt|deine anweisungen|le tue istruzioni|suas instrucoes|\
         il tuo prompt",
    ),
    (
        Reveal,
        "revela|muestra|imprime|repite|revele|affiche|repete|montre|zeige|zeig|wiederhole|verrate|nenne|\
         rivela|mostra|ripeti|stampa|mostre|repita",
    ),
    (
        Take,
        "lee|lea|leer|lean|obten|obtenga|obtener|abre|extrae|recopila|recoge|busca|lis|lisez|lire|\
         obtiens|obtenez|ouvre|ouvrez|recupere*|extrais|collecte|lies|lesen sie|lese|hole|holen sie|\
         offne|sammle|extrahiere|rufe|auslesen|lesen|einlesen|abrufen|leggi|leggere|leggete|ottieni|apri|raccogli|recupera|estrai|leia|\
         ler|obtenha|abra|colete|extraia|recupere|lees|przeczytaj|odczytaj|oku",
    ),
    (
        Give,
        "envia|envie|enviar|envialo*|manda|mandalo|pon|ponlo|ponga|incluye|incluyelo|adjunta|adjuntalo|\
         pasa|pasalo|agrega|anade|sube|reenvia|escribelo|copialo|envoie*|envoyez|envoyer|mets|mettez|\
         inclus|incluez|joins|joignez|transmets|transmettez|passe-le|ajoute|ajoutez|copie|place-le|\
         televerse|sende|senden|schicke|schick|ubermittle|ubermitteln|ubertrage|leite|fuge|hange|trage|\
         packe|setze|ubergib|gib|schreibe|lade|kopiere|ubergeben|einfugen|anhangen|mitsenden|hochladen|weiterleiten|eintragen|kopieren|invia|invialo|inviare|inviate|metti|mettilo|\
         includi|includilo|allega|allegalo|passa|passalo|aggiungi|inoltra|carica|inserisci|coloque|\
         coloca|inclua|anexe|passe|mande|adicione|encaminhe|insira|stuur|verstuur|voeg|wyslij|przeslij|\
         dolacz|gonder",
    ),
    (Contents, "contenido|contenu|inhalt|inhalte|contenuto|conteudo|inhoud|zawartosc|icerigi*"),
    (
        Silence,
        "no se lo digas|no se lo diga|no lo menciones|no menciones|no lo mencione|no le digas|\
         no digas nada|no informes|no le informes|no avises|no reveles|no lo reveles|sin decir|\
         sin informar|sin avisar|sin mencionar|sin que el usuario|que el usuario no|no debe saber|\
         no necesita saber|no se lo comentes|mantenlo en secreto|guardalo en secreto|ocultalo|\
         ne le dis pas|ne le dites pas|ne le mentionne*|ne mentionne*|n'en parle|n'en parlez|\
         ne dis rien|ne dites rien|n'informe*|ne revele*|ne previens|sans le dire|sans en parler|\
         sans informer|sans prevenir|sans mentionner|a l'insu|ne doit pas savoir|\
         n'a pas besoin de savoir|garde cela secret|gardez cela secret|ne le signale*|erwahne das nicht|\
         erwahne dies nicht|erwahne es nicht|erwahne nicht|erwahnen sie|nicht erwahnen|\
         sag dem nutzer nicht*|sage dem nutzer nicht*|sag dem benutzer nicht*|sage dem benutzer nicht*|\
         sag es nicht|sage nichts|sag nichts|sagen sie nicht*|teile dem nutzer nicht|\
         teile dem benutzer nicht|informiere den nutzer nicht|informiere den benutzer nicht|\
         verrate nicht*|verrate es nicht|verschweige*|verheimliche*|ohne den nutzer|ohne den benutzer|\
         ohne es zu erwahnen|ohne zu erwahnen|ohne das wissen|ohne wissen|darf nicht wissen|\
         muss nicht wissen|nicht erfahren|nichts davon erfahren|behalte das fur dich|geheim halten|\
         halte das geheim|davon nichts|nicht mitteilen|non dirlo|non dire|non menzionar*|non informare|\
         non rivelare|non farne parola|non avvisare|senza dirlo|senza informare|senza avvisare|\
         senza menzionare|all'insaputa|non deve sapere|non ha bisogno di sapere|tienilo segreto|\
         mantienilo segreto|nao conte|nao diga|nao mencione|nao informe|nao revele|nao avise|nao fale|\
         sem contar|sem informar|sem avisar|sem mencionar|sem que o usuario|nao deve saber|\
         nao precisa saber|mantenha em segredo|vertel de gebruiker niet*|vermeld dit niet|zeg niets|\
         niet vermelden|nie mow|nie wspominaj|nie informuj|kullaniciya soyleme*|bahsetme*|\
         jangan beri tahu|jangan sebutkan|dung noi|khong noi|beratta inte",
    ),
    (
        Stealth,
        "en silencio|silenciosamente|en silence|silencieusement|im stillen|stillschweigend|\
         silenziosamente|em silencio",
    ),
    (
        Person,
        "usuario|utilisateur|nutzer|benutzer|anwender|utente|usuaria|gebruiker|uzytkownik*|kullanici*|\
         pengguna|anvandaren",
    ),
    (
        Model,
        "asistente|assistente|ki-assistent*|assistent|ki|modelo|modele|modell|modello|\
         inteligencia artificial|agente|ia",
    ),
    (
        Addressee,
        "nota para la ia|nota para asistentes|nota para el asistente|note pour l'ia|\
         note pour l'assistant|note aux assistants|hinweis fur ki*|hinweis an ki*|hinweis fur die ki|\
         hinweis an den assistenten|nota per l'ia|nota per gli assistenti|nota per l'assistente|\
         nota para a ia|nota para assistentes|nota para o assistente|an alle ki*|achtung ki|\
         si eres una ia|si tu es une ia|wenn du eine ki|se sei un'ia|se voce e uma ia|\
         instruccion del sistema|instruction du systeme|systemanweisung|istruzione di sistema|\
         instrucao do sistema|hinweis an die ki|nachricht an die ki|an die ki|an alle assistenten|\
         mensaje para la ia|message pour l'ia",
    ),
    (
        Demand,
        "siempre|obligatorio|importante|debes|debe|toujours|obligatoire|dois|devez|immer|muss|musst|\
         mussen|wichtig|unbedingt|sempre|devi|deve|obrigatorio|de lo contrario|sinon|sonst|andernfalls|\
         altrimenti|caso contrario|zwingend|sofort",
    ),
    (
        Timing,
        "antes de|primero|tambien|despues de|cada vez|en cada|d'abord|avant de|avant d'|aussi|apres|\
         a chaque|zuerst|bevor|vor der|vor dem|zusatzlich|auch|bei jedem|nach dem|danach|prima di|\
         per prima cosa|anche|dopo|ogni volta|a ogni|ad ogni|primeiro|tambem|depois de|em cada|a cada|\
         eerst|najpierw|once",
    ),
    (
        Parameter,
        "parametro|parametre|champ|en el campo|feld|als wert|campo|als parameter|im parameter|\
         en el parametro|dans le parametre|nel parametro|no parametro|argumento|argomento|argument",
    ),
    (
        OtherTools,
        "otras herramientas|cualquier otra herramienta|otros servidores|autres outils|tout autre outil|\
         autres serveurs|andere werkzeuge|anderen werkzeuge|andere tools|anderen tools|anderes tool|\
         andere server|anderen server|altri strumenti|qualsiasi altro strumento|altri server|\
         outras ferramentas|outros servidores",
    ),
    (
        Danger,
        "transfiere|transferir|borra|elimina|desactiva|ejecuta|compra|transfere*|virement|supprime*|\
         desactive*|execute*|achete*|uberweise*|losche|loschen|deaktiviere|fuhre|kaufe|trasferisci|\
         cancella|disattiva|esegui|acquista|transfira|apague|exclua|desative|compre|overmaken|verwijder|\
         przelej|usun",
    ),
    (
        Secretly,
        "en secreto|discretamente|secretamente|en secret|discretement|secretement|heimlich|unauffallig|\
         unbemerkt|in segreto|segretamente|di nascosto|em segredo|stiekem|potajemnie|gizlice|diam-diam",
    ),
    (
        YourRules,
        "tus reglas|tus restricciones|tus normas|sus reglas|tes regles|vos regles|tes restrictions|\
         deine regeln|deine richtlinien|deine einschrankungen|le tue regole|suas regras|je regels|\
         deine vorgaben|den systemprompt|el prompt del sistema|le prompt systeme|il prompt di sistema|\
         o prompt do sistema",
    ),
    (
        What,
        "was oben steht|was zuvor|was vorher|lo que se dijo|lo escrito|lo que esta escrito|\
         ce qui est ecrit|ce qui a ete dit|cio che e scritto|quello che e scritto|o que foi dito|\
         o que esta escrito|alles|todo|tout|tutto|tudo",
    ),
];
