"""Each language's row: how it reads a variable, and how it listens on a port."""

from __future__ import annotations

import pytest

from services.stacks.phases.facts.languages import ENDINGS, LANGUAGES, port_pattern, variable_pattern


def names(ending: str, code: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in variable_pattern(ending).finditer(code)]


def ports(ending: str, code: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in port_pattern(ending).finditer(code)]


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (".js", "process.env.API_URL"), (".ts", "process.env['API_URL']"), (".vue", "import.meta.env.API_URL"),
        (".ts", 'Deno.env.get("API_URL")'), (".mjs", "Bun.env.API_URL"), (".js", "env.int('API_URL', 1)"),
        (".py", 'os.environ["API_URL"]'), (".py", "os.environ.get('API_URL')"), (".py", "os.getenv('API_URL', 1)"),
        (".rb", "ENV.fetch('API_URL')"), (".cr", 'ENV["API_URL"]'), (".jl", 'ENV["API_URL"]'), (".php", "$_ENV['API_URL']"),
        (".php", "env('API_URL')"), (".go", 'os.Getenv("API_URL")'), (".go", 'os.LookupEnv("API_URL")'),
        (".rs", 'std::env::var("API_URL")'), (".rs", 'env!("API_URL")'), (".java", 'System.getenv("API_URL")'),
        (".kt", '@Value("${API_URL:x}")'), (".cs", 'Environment.GetEnvironmentVariable("API_URL")'),
        (".exs", 'System.fetch_env!("API_URL")'), (".c", 'getenv("API_URL")'), (".R", "Sys.getenv('API_URL')"),
    ],
)  # fmt: skip
def test_a_language_reads_variables_its_own_way(ending: str, code: str) -> None:
    assert names(ending, code) == ["API_URL"]


@pytest.mark.parametrize(
    ("ending", "code", "port"),
    [
        (".js", "app.listen(3000)", "3000"), (".ts", "server.listen({ port: 8080 })", "8080"), (".js", "process.env.PORT || 4000", "4000"),
        (".py", "os.environ.get('PORT', 8000)", "8000"), (".py", 'uvicorn.run(app, port=8001)', "8001"),
        (".rb", "set :port, 4567", "4567"), (".go", 'http.ListenAndServe(":9090", nil)', "9090"), (".go", 'Addr: ":9091"', "9091"),
        (".rs", "SocketAddr::from(([0, 0, 0, 0], 3001))", "3001"), (".rs", '.bind(("127.0.0.1", 8088))', "8088"),
        (".rs", 'bind("0.0.0.0:3002")', "3002"), (".rs", '.unwrap_or("3003".into())', "3003"), (".java", "Javalin.create().start(7070)", "7070"),
        (".cc", 'app().addListener("0.0.0.0", 8848)', "8848"), (".hs", "main = run 8081 app", "8081"), (".php", "getenv('PORT', '8090')", "8090"),
    ],
)  # fmt: skip
def test_a_language_listens_its_own_way(ending: str, code: str, port: str) -> None:
    assert ports(ending, code) == [port]


def test_what_one_language_writes_says_nothing_in_another() -> None:
    assert names(".py", "process.env.API_URL") == []
    assert ports(".py", "main = run 8081 app") == []


def test_no_ending_belongs_to_two_languages() -> None:
    assert len(set(ENDINGS)) == len(ENDINGS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_expression_has_one_group(language: str) -> None:
    row = LANGUAGES[language]
    assert all(expression.count("<name>") == 1 for expression in row.variables)
    assert all(("<port>" in expression) != (r"(\d{4,5})" in expression) for expression in row.ports)
