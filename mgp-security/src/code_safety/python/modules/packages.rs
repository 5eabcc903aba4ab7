//! Packages that compute, read and write documents, or ask services over HTTP: what ordinary code is made of.
//!
//! What starts programs, runs templates or texts as code, drives other machines or loads objects from files is not
//! among them.

pub(super) const PACKAGES: &str = "\
    aiocache aiofiles aiohttp aiolimiter aiomysql aioredis aiosmtplib aiosqlite airportsdata airtable \
    alembic algoliasearch alpaca alpaca_trade_api altair amadeus annotated_types anthropic anyio \
    apify_client apprise apscheduler arrow arxiv asana asgi_lifespan asgiref astropy astroquery asyncer \
    asynciolimiter asyncpg asyncpraw atlassian atproto attr attrs authlib azure babel backoff bcrypt beanie \
    beartype beautifulsoup4 Bio bioc biopython bioservices biothings_client bitarray bleach blinker bokeh \
    boltons boto3 botocore bravado brotli bs4 bson cachetools caldav cartopy cattr cattrs ccxt certifi \
    cftime chardet charset_normalizer chembl_webresource_client chromadb ciso8601 click cloudscraper cohere \
    coingecko_sdk colorama coloredlogs colorlog compact_json conllu contourpy crossref crossref_commons \
    cryptography cssselect curl_cffi currency_converter cv2 cycler cyclopts dataclasses_json \
    dateparser dateutil dbutils ddgs deepdiff deepl defusedxml dependency_injector deprecated deprecation \
    discord diskcache dns docket docstring_parser docutils docx docx2txt dotenv duckdb duckduckgo_search \
    durationpy ee elasticsearch elasticsearch_dsl email_validator emoji environs ephem et_xmlfile \
    eth_account eth_utils evaluate exa_py exceptiongroup exifread ezodf facebook_business faiss faker \
    fastapi fastapi_mcp fastembed fastjsonschema fastmcp fastparquet feedgen feedparser filelock filetype \
    finnhub fiona firebase_admin firecrawl fitz flask flask_cors flatten_json folium fontTools fpdf fredapi \
    freezegun frozendict frozenlist fsspec furl fuzzywuzzy gensim geographiclib geojson geopandas geopy \
    gidgethub github githubkit gitlab google.adk google.ads google.ai google.analytics google.api \
    google.api_core google.auth google.cloud google.genai google.generativeai google.maps google.oauth2 \
    google.protobuf google.rpc google.type google_auth_httplib2 google_auth_oauthlib google_play_scraper \
    googleapiclient googlemaps googlesearch googletrans gql graphene graphql graphviz greenlet griffe groq \
    grpc gspread gtts h11 h2 h3 h5py habanero haversine holidays html2text html5lib httpcore httplib2 httpx \
    httpx2 httpx_sse hubspot huggingface_hub humanfriendly humanize hvac hypercorn hyperlink hypothesis \
    icalendar idna igraph ijson imagehash imageio imap_tools imdb inflect inflection influxdb_client \
    injector instructor intervaltree iso3166 isodate isort itsdangerous jaxtyping jellyfish jieba jinja2 \
    jira jmespath jose joserfc json5 json_repair jsonlines jsonpatch jsonpath_ng jsonpointer jsonref \
    jsonschema jsonschema_specifications justext jwcrypto jwt kagiapi key_value keybert kiwisolver \
    langchain langchain_anthropic langchain_community langchain_core langchain_mcp_adapters \
    langchain_openai langchain_text_splitters langcodes langdetect langfuse langgraph langid langsmith lark \
    latex2mathml levenshtein Levenshtein librosa lightgbm limits linkify_it litellm litestar llama_index \
    loguru lunarcalendar lunardate lxml mammoth markdown markdown2 markdown_it markdownify markitdown \
    markupsafe marshmallow matplotlib matplotlib_inline mcp mdformat mdurl meilisearch metapub metpy \
    mistralai mistune mongoengine more_itertools motor moviepy mpl_toolkits mpld3 mplfinance mpmath msal \
    msgpack msgraph msgspec msoffcrypto multidict multipart mutagen mygene mypy_boto3 mysql myvariant \
    narwhals nasapy natsort neo4j nested_lookup netCDF4 networkx newspaper nltk notion_client notional \
    num2words numpy numpy_financial oauthlib obspy odf ollama openai openapi_core openapi_pydantic \
    openapi_schema_validator openapi_spec_validator opencage opencc openmeteo_requests openpyxl \
    opentelemetry openweathermap oracledb orjson overpy overrides oyaml packaging pandas pandas_datareader \
    pandas_market_calendars pandas_ta pandasql pandera parse parsel parso passlib pathspec pathvalidate \
    patsy pdf2image pdfminer pdfplumber peewee pendulum phonenumbers pika pikepdf PIL pinecone pint \
    platformdirs playhouse plotly plotnine pluggy ply polars polib polyline portalocker postgrest posthog \
    pptx praw prawcore prettytable prisma prometheus_client prompt_toolkit promptlayer propcache proto \
    protobuf psycopg psycopg2 psycopg_pool pubchempy pubmed_parser py_vollib pyairtable pyarrow pyasn1 \
    pybaseball pycountry pydantic pydantic_ai pydantic_core pydantic_extra_types pydantic_settings pydicom \
    pydub pyfiglet pygments pyjokes pylatexenc pyld pymed pymongo pymssql pymupdf pymupdf4llm pymysql \
    pynamodb pyodbc pyowm pyparsing pypdf PyPDF2 pypdfium2 pypika pyproj pyrate_limiter pyrsistent pysolr \
    pystac pystac_client pytesseract pytest pytest_asyncio pytrends pytube pytz pywikibot pyxirr \
    qdrant_client qrcode quantlib QuantLib questionary rank_bm25 rapidfuzz rasterio ratelimit ratelimiter \
    rdflib rdkit readability reddit redditwarp redis referencing regex replicate reportlab requests \
    requests_cache requests_futures requests_html requests_oauthlib requests_toolbelt responses respx retry \
    retryhttp retrying rfc3339_validator rfc3986 rich rioxarray rpds rtree ruamel s3fs sacrebleu \
    salesforce scholarly scikit_learn scipy seaborn semantic_kernel semanticscholar semver sendgrid \
    sentence_transformers sentencepiece sentry_sdk serpapi serper shapely shodan shopify shortuuid \
    simple_parsing simple_salesforce simpleeval simplejson simpy six skimage sklearn skyfield slack_bolt \
    slack_sdk slowapi slugify smart_open smithery sniffio snowballstemmer snowflake socketio \
    sortedcontainers soupsieve spacy spotipy sqlalchemy sqlfluff sqlglot sqlmodel sqlparse sse_starlette \
    sseclient starlette starlette_context statsmodels stem strawberry stringcase stripe structlog supabase \
    svglib svgwrite sympy ta tabula tabulate tavily telegram tenacity termcolor text_unidecode textblob \
    textdistance texttable textual thefuzz tiktoken timezonefinder tinycss2 tinydb tinytag tldextract \
    todoist_api_python together tokenizers toml tomli tomli_w tomlkit toolz toposort \
    tortoise tqdm trafilatura translate tree_sitter trello trio tushare tweepy \
    twilio typeguard typer typing_extensions typing_inspect typing_inspection tzdata tzlocal ujson ulid umap \
    uncertainties unidecode unidiff unstructured uritemplate uritools url_normalize urllib3 user_agents \
    uuid6 uuid_extensions uuid_utils uvicorn uvloop validators vcr vectorbt vega_datasets vertexai \
    virustotal_python vobject voluptuous voyageai watchdog watchfiles wbdata wbgapi weasyprint weaviate web3 \
    webcolors webob websocket websockets werkzeug whois whoosh wikidata wikipedia wikipediaapi \
    wikitextparser wolframalpha wordcloud wordfreq wrapt xarray xgboost xlrd xlsxwriter xmlschema xmltodict \
    xxhash yaml yarl yfinance youtube_search youtube_transcript_api youtubesearchpython zeep zenpy zhipuai \
    zipp zstandard zulip";
