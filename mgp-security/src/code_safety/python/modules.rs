//! Which modules code may import, and which names within modules are dangerous.

/// Modules that start processes, load foreign code, reach into the interpreter or talk to the network below HTTP.
pub(in super::super) const BLOCKED_MODULES: &[&str] = &[
    "subprocess", "shutil", "socket", "socketserver", "ctypes", "_ctypes", "cffi", "pty", "code", "codeop", "pickle",
    "_pickle", "cPickle", "cloudpickle", "dill", "jsonpickle", "marshal", "shelve", "builtins", "__builtin__", "__main__",
    "importlib", "_frozen_importlib", "_frozen_importlib_external", "imp", "_imp", "runpy", "pkgutil", "zipimport",
    "multiprocessing", "_posixsubprocess", "posix", "nt", "_winapi", "_thread", "gc", "antigravity", "commands", "popen2",
    "telnetlib", "ftplib", "smtplib", "poplib", "imaplib", "nntplib", "smtpd", "asyncore", "asynchat", "xmlrpc",
    "http.server", "http.client", "wsgiref", "cgitb", "pdb", "bdb", "trace", "faulthandler", "tracemalloc", "idlelib",
    "distutils", "setuptools", "pip", "ensurepip", "venv", "site", "sitecustomize", "usercustomize", "webbrowser", "msvcrt",
    "winreg", "_winreg", "crypt", "spwd", "pwd", "grp", "nis", "syslog", "resource", "mmap", "fcntl", "termios", "tty",
    "asyncio.subprocess", "asyncio.unix_events", "asyncio.base_subprocess", "logging.config", "multiprocess", "joblib",
    "paramiko", "fabric", "pexpect", "sh", "plumbum", "invoke", "psutil", "scapy", "nmap", "impacket", "pwn", "pwnlib",
    "pyautogui", "pynput", "doctest", "profile", "cProfile", "timeit", 
    "numpy.f2py", "numpy.distutils", "numpy.ctypeslib", "torch.utils.cpp_extension", "ossaudiodev", "_io", "_osx_support",
    "lib2to3", "pydoc", "pipes", "rlcompleter", "cmd", "opcode", "_xxsubinterpreters", "_interpreters", "interpreters",
    "test", "turtledemo", "this", "__phello__",
];

/// Parts of blocked modules that only read what was installed.
pub(in super::super) const EXEMPT_MODULES: &[&str] = &["importlib.metadata", "importlib.resources"];

/// Modules that compute, read what they are given, or speak HTTP: what ordinary code is made of.
pub(in super::super) const ALLOWED_MODULES: &[&str] = &[
    // The standard library.
    "__future__", "_collections_abc", "abc", "argparse", "array", "ast", "asyncio", "atexit", "base64", "binascii",
    "bisect", "bz2", "calendar", "cmath", "codecs", "collections", "colorsys", "concurrent", "configparser", "contextlib",
    "contextvars", "copy", "copyreg", "csv", "dataclasses", "dbm", "datetime", "decimal", "difflib", "email", "encodings",
    "enum", "errno", "fnmatch", "fractions", "functools", "genericpath", "getopt", "getpass", "gettext", "importlib.metadata", "importlib.resources", "glob",
    "graphlib", "gzip", "hashlib", "heapq", "hmac", "html", "http", "inspect", "io", "ipaddress", "itertools", "json",
    "keyword", "locale", "logging", "lzma", "math", "mimetypes", "numbers", "operator", "optparse", "os", "pathlib",
    "platform", "plistlib", "posixpath", "ntpath", "pprint", "queue", "quopri", "random", "re", "reprlib", "secrets",
    "select", "selectors", "shlex", "signal", "sqlite3", "ssl", "stat", "statistics", "string", "stringprep", "struct",
    "sys", "sysconfig", "tempfile", "textwrap", "threading", "time", "token", "tokenize", "tomllib", "traceback",
    "types", "typing", "unicodedata", "unittest", "urllib.parse", "urllib.error", "uuid", "warnings", "weakref", "xml",
    "zipfile", "zlib", "zoneinfo", "_weakrefset", "_abc", "_struct", "_datetime", "_decimal", "_json", "sre_compile",
    "sre_constants", "sre_parse", "symtable", "dis", "filecmp", "netrc", "mailbox", "xdrlib", "chunk", "sched", "cgi",
    "_typing", "_operator", "_functools", "_bisect", "_heapq", "_random", "_statistics", "_string", "_strptime",
    // Packages that tools are commonly written with.
    "aiofiles", "aiohttp", "altair", "annotated_types", "anthropic", "anyio", "arrow", "astropy", "attr", "attrs",
    "backoff", "beautifulsoup4", "bs4", "cachetools", "certifi", "chardet", "charset_normalizer", "click", "colorama",
    "cryptography", "cssselect", "dateutil", "defusedxml", "dotenv", "email_validator", "fastapi", "fastmcp",
    "feedparser", "geopy", "google.generativeai", "graphviz", "h11", "html2text", "html5lib", "httpcore", "httpx",
    "httpx_sse", "idna", "isodate", "jinja2", "joserfc", "jmespath", "jsonpath_ng", "jsonschema", "jwt", "langdetect",
    "loguru", "lxml", "markdown", "markdownify", "markupsafe", "matplotlib", "mcp", "more_itertools", "mpmath",
    "msgspec", "networkx", "nltk", "numpy", "openai", "openpyxl", "orjson", "packaging", "pandas", "pendulum", "PIL",
    "pint", "platformdirs", "plotly", "polars", "praw", "pydantic", "pydantic_core", "pydantic_settings", "pygments",
    "pymupdf", "fitz", "PyPDF2", "pypdf", "pdfplumber", "pyparsing", "pytest", "pytz", "rapidfuzz", "readability",
    "regex", "requests", "requests_cache", "respx", "rich", "scholarly", "scipy", "seaborn", "serpapi", "shapely",
    "simplejson", "six", "skimage", "sklearn", "sniffio", "sortedcontainers", "soupsieve", "sse_starlette", "starlette",
    "statsmodels", "structlog", "sympy", "tabulate", "tenacity", "termcolor", "tiktoken", "tinycss2", "toml", "toolz",
    "tqdm", "trafilatura", "typer", "typing_extensions", "typing_inspection", "tzdata", "tzlocal", "ujson", "unidecode",
    "urllib3", "uvicorn", "validators", "websockets", "whois", "wikipedia", "wikipediaapi", "xmltodict", "yaml", "yarl",
    "yfinance", "arxiv", "googlemaps", "diskcache", "humanize", "babel", "pycountry", "thefuzz", "fuzzywuzzy", "ddgs",
    "duckduckgo_search", "wolframalpha", "huggingface_hub", "biopython", "Bio", "rdkit", "xarray", "pyproj", "geojson",
    "tomlkit", "tomli", "tomli_w", "mistralai", "pypdfium2", "pytesseract", "fastembed", "qdrant_client", "sqlalchemy", "aiosqlite",
    "opentelemetry", "prometheus_client", "authlib", "google.auth", "googleapiclient", "ollama", "groq", "cohere", "langchain",
    "langchain_core", "litellm", "docx", "pptx", "chromadb", "redis", "pymongo", "asyncpg", "psycopg2", "tavily", "notion_client",
    "slack_sdk", "github", "gitlab", "jira", "atlassian", "tweepy", "exa_py", "firecrawl", "youtube_transcript_api", "pydub",
    "stripe", "boto3", "botocore", "azure", "pyarrow", "duckdb", "imageio", "cv2", "folium", "geopandas", "ephem", "skyfield",
];

/// Names that run code, start processes or reach into the interpreter, wherever the module came from: blocked from
/// standard on. An entry stands for everything below it.
pub(super) const DANGEROUS: &[&str] = &[
    "importlib.import_module", "importlib.__import__", "importlib.reload", "importlib.util", "importlib.machinery",
    "importlib.abc", "importlib._bootstrap", "importlib._bootstrap_external", "os.system", "os.popen", "os.popen2", "os.popen3", "os.popen4", "os.execl", "os.execle", "os.execlp", "os.execlpe",
    "os.execv", "os.execve", "os.execvp", "os.execvpe", "os.spawnl", "os.spawnle", "os.spawnlp", "os.spawnlpe",
    "os.spawnv", "os.spawnve", "os.spawnvp", "os.spawnvpe", "os.posix_spawn", "os.posix_spawnp", "os.fork", "os.forkpty",
    "os.startfile", "os.kill", "os.killpg", "os.putenv", "os.unsetenv", "os.setuid", "os.setgid", "os.seteuid",
    "os.setegid", "os.setreuid", "os.setresuid", "os.setgroups", "os.chroot", "os.mknod", "os.mkfifo", "os.abort", "os._exit",
    "os.dup2", "os.pidfd_open", "os.ptrace", "os.memfd_create", "os.add_dll_directory", 
    "builtins.eval", "builtins.exec", "builtins.execfile", "builtins.compile", "builtins.__import__",
    "builtins.breakpoint", "builtins.help", "builtins.license", "builtins.copyright", "builtins.credits",
    "builtins.__builtins__", "builtins.__loader__", "builtins.__build_class__", "builtins.reload",
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile",
    "sys.breakpointhook", "sys.__breakpointhook__", "sys.call_tracing", "sys.addaudithook", "sys.path_hooks",
    "sys.path_importer_cache", "sys._getframemodulename", "sys._clear_type_cache", "sys.monitoring", "sys.remote_exec",
    "platform.popen", "platform.os", "platform.subprocess", "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell",
    "asyncio.subprocess", "inspect.currentframe", "inspect.stack", "inspect.trace", "inspect.getinnerframes",
    "inspect.getouterframes", "inspect.builtins", "types.CodeType", "types.FunctionType()", "types.LambdaType()",
    "types.FrameType", "tempfile.mktemp", "threading.settrace", "threading.setprofile", 
    "yaml.unsafe_load", "yaml.unsafe_load_all", "yaml.full_load", "yaml.full_load_all",
    "yaml.Loader()", "yaml.UnsafeLoader()", "yaml.FullLoader()", "pandas.read_pickle", "pandas.eval", "pandas.io.pickle",
    "torch.hub", "numpy.lib.npyio.pickle", "jinja2.Template()", "logging.config.listen",     "unittest.main", "pytest.main", "sqlite3.enable_callback_tracebacks", "concurrent.futures.process", "pkg_resources",
    "readline.set_completer", "ssl._create_unverified_context", "ssl._create_default_https_context", "numpy.testing.runstring",
    "nltk.data.load", "http.server", "sympy.utilities.autowrap",
];

/// Names that change what is outside of the code or give its surroundings away: blocked from strict on.
pub(super) const STRICT: &[&str] = &[
    "os.remove", "os.unlink", "os.rmdir", "os.removedirs", "os.rename", "os.renames", "os.replace", "os.link",
    "os.symlink", "os.truncate", "os.ftruncate", "os.chown", "os.fchown", "os.lchown", "os.lchmod", "os.chflags", "os.nice",
    "os.environb", "os.getlogin", "os.setsid", "os.setpgid", "os.setpriority", "os.sched_setaffinity", "os.umask", "os.chroot",
    "builtins.__spec__", "sys.meta_path", "sys.setrecursionlimit", "sys.setswitchinterval", "sys.setdlopenflags", "sys.gettrace",
    "signal.pthread_kill",
    "signal.raise_signal", "types.MethodType()", "inspect.getattr_static", "inspect.getmodule", 
    "copyreg.pickle", "copyreg.add_extension", "copyreg._reconstructor",
];

/// Modules that other modules have among their names.
pub(super) const HIDDEN_MODULES: &[&str] = &[
    "os", "sys", "subprocess", "builtins", "importlib", "socket", "shutil", "ctypes", "pickle", "marshal", "inspect",
    "linecache", "runpy", "pkgutil", "imp", "multiprocessing", "posix", "nt", "_os", "_sys", "_thread", "gc", "code",
    "codeop", "pty", "pdb", "bdb", "webbrowser", "__builtins__", "__import__", "__loader__", "__spec__", "__dict__",
];

/// Modules that hand out power as values: naming one without taking a member of it hides what is done with it.
pub(super) const POWERFUL: &[&str] = &["os", "sys", "builtins", "importlib", "subprocess", "shutil", "posix", "nt", "ctypes", "socket", "pickle", "marshal", "code"];

/// Modules that pieces of programs use without showing the import.
pub(super) const WELL_KNOWN: &[&str] = &[
    "os", "sys", "builtins", "importlib", "subprocess", "shutil", "posix", "ctypes", "pickle", "marshal", "yaml", "pathlib",
    "inspect", "platform", "tempfile", "asyncio", "types", "pandas", "numpy", "requests", "httpx", "io", "pty", "runpy", "imp",
    "cffi", "dill", "shelve", "multiprocessing", "pkgutil", "ftplib", "telnetlib", "smtplib", "paramiko", "webbrowser", "codeop",
];

/// Builtins that rules ask for by their path.
pub(super) const BUILTINS: &[&str] = &[
    "eval", "exec", "execfile", "compile", "__import__", "breakpoint", "help", "license", "copyright", "credits", "open",
    "__builtins__", "__loader__", "__spec__", "__build_class__", "exit", "quit", "reload", "getattr", "setattr", "delattr", "hasattr", "vars", "globals",
    "locals", "dir", "type", "object", "super", "chr", "bytes", "str", "map", "input", "file", "print", "bytearray", "reversed",
];
