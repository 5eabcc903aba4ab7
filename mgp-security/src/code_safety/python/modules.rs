//! Which modules code may import.

/// Modules that start processes, load foreign code, reach into the interpreter or talk to the network below HTTP.
pub(in super::super) const BLOCKED_MODULES: &str = "\
    subprocess shutil socket socketserver ctypes _ctypes cffi pty code codeop pickle _pickle cPickle \
    cloudpickle dill jsonpickle marshal shelve builtins __builtin__ __main__ importlib _frozen_importlib \
    _frozen_importlib_external imp _imp runpy pkgutil zipimport multiprocessing _posixsubprocess posix nt \
    _winapi _thread gc antigravity commands popen2 telnetlib ftplib smtplib poplib imaplib nntplib smtpd \
    asyncore asynchat xmlrpc http.server http.client wsgiref cgitb pdb bdb trace faulthandler tracemalloc \
    idlelib distutils setuptools pip ensurepip venv site sitecustomize usercustomize webbrowser msvcrt \
    winreg _winreg crypt spwd pwd grp nis syslog resource mmap fcntl termios tty asyncio.subprocess \
    asyncio.unix_events asyncio.base_subprocess logging.config multiprocess joblib paramiko fabric pexpect \
    sh plumbum invoke psutil scapy nmap impacket pwn pwnlib pyautogui pynput doctest profile cProfile timeit \
    numpy.f2py numpy.distutils numpy.ctypeslib torch.utils.cpp_extension ossaudiodev _io _osx_support \
    lib2to3 pydoc pipes rlcompleter cmd opcode _xxsubinterpreters _interpreters interpreters test turtledemo \
    this __phello__";

/// Parts of blocked modules that only read what was installed.
pub(in super::super) const EXEMPT_MODULES: &[&str] = &["importlib.metadata", "importlib.resources"];

/// Modules that compute, read what they are given, or speak HTTP: what ordinary code is made of.
pub(in super::super) const ALLOWED_MODULES: &str = "\
    __future__ _collections_abc abc argparse array ast asyncio atexit base64 binascii bisect bz2 calendar \
    cmath codecs collections colorsys concurrent configparser contextlib contextvars copy copyreg csv \
    dataclasses dbm datetime decimal difflib email encodings enum errno fnmatch fractions functools \
    genericpath getopt getpass gettext importlib.metadata importlib.resources glob graphlib gzip hashlib \
    heapq hmac html http inspect io ipaddress itertools json keyword locale logging lzma math mimetypes \
    numbers operator optparse os pathlib platform plistlib posixpath ntpath pprint queue quopri random re \
    reprlib secrets select selectors shlex signal sqlite3 ssl stat statistics string stringprep struct sys \
    sysconfig tempfile textwrap threading time token tokenize tomllib traceback types typing unicodedata \
    unittest urllib.parse urllib.error uuid warnings weakref xml zipfile zlib zoneinfo _weakrefset _abc \
    _struct _datetime _decimal _json sre_compile sre_constants sre_parse symtable dis filecmp netrc mailbox \
    xdrlib chunk sched cgi _typing _operator _functools _bisect _heapq _random _statistics _string _strptime \
    aiofiles aiohttp altair annotated_types anthropic anyio arrow astropy attr attrs backoff beautifulsoup4 \
    bs4 cachetools certifi chardet charset_normalizer click colorama cryptography cssselect dateutil \
    defusedxml dotenv email_validator fastapi fastmcp feedparser geopy google.generativeai graphviz h11 \
    html2text html5lib httpcore httpx httpx_sse idna isodate jinja2 joserfc jmespath jsonpath_ng jsonschema \
    jwt langdetect loguru lxml markdown markdownify markupsafe matplotlib mcp more_itertools mpmath msgspec \
    networkx nltk numpy openai openpyxl orjson packaging pandas pendulum PIL pint platformdirs plotly polars \
    praw pydantic pydantic_core pydantic_settings pygments pymupdf fitz PyPDF2 pypdf pdfplumber pyparsing \
    pytest pytz rapidfuzz readability regex requests requests_cache respx rich scholarly scipy seaborn \
    serpapi shapely simplejson six skimage sklearn sniffio sortedcontainers soupsieve sse_starlette \
    starlette statsmodels structlog sympy tabulate tenacity termcolor tiktoken tinycss2 toml toolz tqdm \
    trafilatura typer typing_extensions typing_inspection tzdata tzlocal ujson unidecode urllib3 uvicorn \
    validators websockets whois wikipedia wikipediaapi xmltodict yaml yarl yfinance arxiv googlemaps \
    diskcache humanize babel pycountry thefuzz fuzzywuzzy ddgs duckduckgo_search wolframalpha \
    huggingface_hub biopython Bio rdkit xarray pyproj geojson tomlkit tomli tomli_w mistralai pypdfium2 \
    pytesseract fastembed qdrant_client sqlalchemy aiosqlite opentelemetry prometheus_client authlib \
    google.auth googleapiclient ollama groq cohere langchain langchain_core litellm docx pptx chromadb redis \
    pymongo asyncpg psycopg2 tavily notion_client slack_sdk github gitlab jira atlassian tweepy exa_py \
    firecrawl youtube_transcript_api pydub stripe boto3 botocore azure pyarrow duckdb imageio cv2 folium \
    geopandas ephem skyfield";
