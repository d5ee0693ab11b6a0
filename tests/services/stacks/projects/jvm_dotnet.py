"""The JVM's languages and .NET."""

from __future__ import annotations

from tests.services.stacks.projects.case import Case

JAVA = {"src/main/java/App.java": "public class App { public static void main(String[] a) {} }\n"}
KT = {"src/main/kotlin/App.kt": "fun main() { println(1) }\n"}


def pom(*dependencies: str, extra: str = "", scope: str = "") -> str:
    inner = "".join(
        f"<dependency><groupId>{one.split(':')[0]}</groupId><artifactId>{one.split(':')[1]}</artifactId>"
        f"{f'<scope>{scope}</scope>' if scope else ''}</dependency>\n"
        for one in dependencies
    )
    return (
        '<?xml version="1.0"?>\n<project xmlns="http://maven.apache.org/POM/4.0.0">\n<groupId>g</groupId><artifactId>svc</artifactId>'
        f"<version>1</version>\n{extra}\n<dependencies>\n{inner}</dependencies>\n</project>\n"
    )


_MAVEN = {
    "spring-boot": "org.springframework.boot:spring-boot-starter-web", "quarkus": "io.quarkus:quarkus-rest",
    "micronaut": "io.micronaut:micronaut-http-server-netty", "ktor": "io.ktor:ktor-server-core", "vertx": "io.vertx:vertx-web",
    "helidon": "io.helidon.webserver:helidon-webserver", "dropwizard": "io.dropwizard:dropwizard-core", "javalin": "io.javalin:javalin",
    "grails": "org.grails:grails-core", "akka-http": "com.typesafe.akka:akka-http_2.13", "pekko-http": "org.apache.pekko:pekko-http_2.13",
    "play": "com.typesafe.play:play_2.13",
}  # fmt: skip
MAVEN = [
    Case(f"a pom with {package} uses {id}", {"pom.xml": pom(package), **JAVA}, language="java", build="maven", framework=id, runtime="jvm", manager="maven")
    for id, package in _MAVEN.items()
] + [
    Case("a plain pom", {"pom.xml": pom("com.google.guava:guava"), **JAVA}, language="java", build="maven", framework=None, runtime="jvm"),
    Case("java's version stands in the properties", {"pom.xml": pom(extra="<properties><java.version>17</java.version></properties>"), **JAVA}, versions={"java": "17"}),
    Case("java 1.8 is java 8", {"pom.xml": pom(extra="<properties><maven.compiler.source>1.8</maven.compiler.source></properties>"), **JAVA}, versions={"java": "8"}),
    Case("the compiler's release", {"pom.xml": pom(extra="<properties><maven.compiler.release>21</maven.compiler.release></properties>"), **JAVA}, versions={"java": "21"}),
    Case("dependencyManagement is no use",
         {"pom.xml": pom(extra="<dependencyManagement><dependencies><dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-dependencies</artifactId></dependency></dependencies></dependencyManagement>"), **JAVA},
         framework=None),
    Case("a test dependency is no framework", {"pom.xml": pom("io.javalin:javalin", scope="test"), **JAVA}, framework=None),
    Case("spring boot's parent is spring boot",
         {"pom.xml": pom(extra="<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>3.2.1</version></parent>"), **JAVA},
         framework="spring-boot"),
    Case("a parent's dependencies hold for its modules",
         {"pom.xml": pom("io.quarkus:quarkus-core", extra="<packaging>pom</packaging><modules><module>api</module></modules>"),
          "api/pom.xml": "<project><parent><groupId>g</groupId><artifactId>svc</artifactId></parent><artifactId>api</artifactId></project>", "api/src/main/java/A.java": "class A {}\n"},
         at="api", framework="quarkus", workspace=("maven", ("api",))),
    Case("kotlin by its sources in maven", {"pom.xml": pom("org.jetbrains.kotlin:kotlin-stdlib"), **KT}, language="kotlin", build="maven"),
    Case("the wrapper runs the build", {"pom.xml": pom(), "mvnw": "#!/bin/sh\n", ".mvn/wrapper/maven-wrapper.properties": "distributionUrl=https://x/apache-maven-3.9.6-bin.zip\n", **JAVA},
         commands=("./mvnw -B -DskipTests package",), versions={"maven": "3.9.6"}),
    Case("the actuator tells health", {"pom.xml": pom("org.springframework.boot:spring-boot-starter-web", "org.springframework.boot:spring-boot-starter-actuator"), **JAVA},
         health="/actuator/health", ports=(8080,), role="app"),
    Case("a port in application.properties", {"pom.xml": pom("org.springframework.boot:spring-boot-starter-web"), "src/main/resources/application.properties": "server.port=9090\nspring.datasource.url=${DB_URL}\n", **JAVA},
         ports=(9090,), env=("DB_URL",)),
    Case("a port in application.yml", {"pom.xml": pom("org.springframework.boot:spring-boot-starter-web"), "src/main/resources/application.yml": "server:\n  port: ${PORT:9191}\n", **JAVA}, ports=(9191,)),
]  # fmt: skip

GRADLE = [
    Case("a groovy build file", {"build.gradle": "plugins { id 'java' }\ndependencies { implementation 'io.javalin:javalin:6.0' }\n", **JAVA}, language="java", build="gradle", framework="javalin"),
    Case("a kotlin build file", {"build.gradle.kts": 'plugins { kotlin("jvm") version "1.9.22" }\ndependencies { implementation("io.ktor:ktor-server-netty:2.3.7") }\nkotlin { jvmToolchain(17) }\n', **KT},
         language="kotlin", build="gradle", framework="ktor", versions={"java": "17"}, runtime="jvm"),
    Case("a kotlin build file does not make java kotlin", {"build.gradle.kts": "plugins { java }\n" * 40, **JAVA}, language="java"),
    Case("spring boot's plugin", {"build.gradle": "plugins {\n  id 'org.springframework.boot' version '3.2.0'\n}\njava { toolchain { languageVersion = JavaLanguageVersion.of(21) } }\n", **JAVA},
         framework="spring-boot", versions={"java": "21"}, role="app"),
    Case("a plugin that is not applied is no use", {"build.gradle": "plugins {\n  id 'org.springframework.boot' version '3.2.0' apply false\n}\n", **JAVA}, framework=None),
    Case("a comment is no use", {"build.gradle": "// implementation 'io.javalin:javalin:6.0'\n/* id 'io.quarkus' */\nplugins { id 'java' }\n", **JAVA}, framework=None),
    Case("a version catalog is followed",
         {"build.gradle.kts": "plugins { alias(libs.plugins.spring.boot) }\ndependencies { implementation(libs.guava) }\n",
          "gradle/libs.versions.toml": "[versions]\nboot = '3.3.0'\n[libraries]\nguava = 'com.google.guava:guava:33'\n[plugins]\nspring-boot = { id = 'org.springframework.boot', version.ref = 'boot' }\n", **JAVA},
         framework="spring-boot"),
    Case("a test library is no framework", {"build.gradle": "dependencies { testImplementation 'io.javalin:javalin:6.0' }\n", **JAVA}, framework=None),
    Case("the map form of dependencies", {"build.gradle": "dependencies { implementation group: 'io.vertx', name: 'vertx-web', version: '4.5' }\n", **JAVA}, framework="vertx"),
    Case("the wrapper's version", {"build.gradle": "plugins { id 'java' }\n", "gradlew": "#!/bin/sh\n", "gradle/wrapper/gradle-wrapper.properties": "distributionUrl=https\\://services.gradle.org/distributions/gradle-8.5-bin.zip\n", **JAVA},
         versions={"gradle": "8.5"}, commands=("./gradlew build -x test",)),
    Case("included projects are a workspace", {"settings.gradle.kts": 'rootProject.name = "all"\ninclude(":app", ":lib:core")\n', "app/build.gradle.kts": "plugins { application }\n", "lib/core/build.gradle.kts": "plugins { java }\n", "app/src/main/java/A.java": "class A {}\n"},
         at="app", workspace=("gradle", ("app", "lib/core")), build="gradle"),
    Case("subprojects share their plugins",
         {"build.gradle": "subprojects {\n  apply plugin: 'io.micronaut.application'\n  dependencies { implementation 'io.micronaut:micronaut-http' }\n}\n", "settings.gradle": "include 'svc'\n", "svc/build.gradle": "\n", "svc/src/main/java/A.java": "class A {}\n"},
         at="svc", framework="micronaut"),
]  # fmt: skip

OTHERS = [
    Case("an sbt build", {"build.sbt": 'name := "s"\nscalaVersion := "3.3.1"\nlibraryDependencies += "org.http4s" %% "http4s-ember-server" % "0.23"\n', "project/build.properties": "sbt.version=1.9.7\n", "src/main/scala/M.scala": "object M\n"},
         language="scala", build="sbt", framework="http4s", runtime="jvm", versions={"scala": "3.3.1", "sbt": "1.9.7"}),
    Case("play by its sbt plugin", {"build.sbt": "lazy val root = (project in file(\".\")).enablePlugins(PlayScala)\n", "app/C.scala": "class C\n"}, framework="play"),
    Case("a mill build", {"build.sc": 'object app extends ScalaModule { def scalaVersion = "2.13.12" }\n', "app/src/M.scala": "object M\n"}, language="scala", build="mill", versions={"scala": "2.13.12"}),
    Case("a leiningen project", {"project.clj": '(defproject web "0.1.0"\n  :dependencies [[org.clojure/clojure "1.11.1"]\n                 [ring/ring-core "1.10.0"]])\n', "src/web/core.clj": "(ns web.core)\n"},
         language="clojure", build="leiningen", framework="ring", runtime="jvm", versions={"clojure": "1.11.1"}),
    Case("a deps.edn project", {"deps.edn": '{:deps {ring/ring {:mvn/version "1.10.0"}}}\n', "src/a.clj": "(ns a)\n"}, language="clojure", build="tools-deps", framework="ring"),
    Case("an ASP.NET Core project", {"Web.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web">\n<PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>\n</Project>\n', "Program.cs": "var a = 1;\n"},
         language="csharp", build="dotnet", framework="aspnet-core", runtime="dotnet", manager="nuget", versions={"dotnet": "8.0"}, role="app"),
    Case("a class library", {"Lib.csproj": '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>\n', "A.cs": "class A {}\n"}, framework=None, role="library", language="csharp"),
    Case("a console program", {"C.csproj": '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net9.0</TargetFramework></PropertyGroup></Project>\n', "A.cs": "class A {}\n"}, role="app", versions={"dotnet": "9.0"}),
    Case("an F# project", {"F.fsproj": '<Project Sdk="Microsoft.NET.Sdk.Web"><ItemGroup><PackageReference Include="Giraffe" Version="6.2.0" /></ItemGroup></Project>\n', "P.fs": "module P\n"},
         language="fsharp", framework="giraffe", candidates=(("framework", "aspnet-core"),), runtime="dotnet"),
    Case("a Visual Basic project", {"V.vbproj": '<Project Sdk="Microsoft.NET.Sdk" />\n', "M.vb": "Module M\nEnd Module\n"}, language="vbnet", build="dotnet"),
    Case("a worker service", {"W.csproj": '<Project Sdk="Microsoft.NET.Sdk.Worker" />\n', "P.cs": "class P {}\n"}, framework="worker-service", role="app"),
    Case("blazor in the browser", {"B.csproj": '<Project Sdk="Microsoft.NET.Sdk.BlazorWebAssembly" />\n', "P.cs": "class P {}\n"}, framework="blazor"),
    Case("orleans beneath", {"O.csproj": '<Project Sdk="Microsoft.NET.Sdk"><ItemGroup><PackageReference Include="Microsoft.Orleans.Server" Version="8.0.0" /></ItemGroup></Project>\n', "P.cs": "class P {}\n"}, framework="orleans"),
    Case("maui", {"M.csproj": '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><UseMaui>true</UseMaui></PropertyGroup></Project>\n', "P.cs": "class P {}\n"}, framework="maui"),
    Case("a solution gathers projects",
         {"All.sln": 'Project("{FAE}") = "Api", "src\\Api\\Api.csproj", "{1}"\nEndProject\n', "src/Api/Api.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web" />\n', "src/Api/P.cs": "class P {}\n"},
         at="src/Api", workspace=("dotnet", ("src/Api",)), framework="aspnet-core", paths=("src/Api",)),
    Case("global.json pins the SDK", {"W.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>', "global.json": {"sdk": {"version": "8.0.100"}}, "P.cs": "class P {}\n"}, versions={"dotnet": "8.0.100"}),
    Case("Directory.Build.props hands the framework down",
         {"Directory.Build.props": "<Project><PropertyGroup><TargetFramework>net7.0</TargetFramework></PropertyGroup></Project>\n", "a/A.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web" />\n', "a/P.cs": "class P {}\n"},
         at="a", versions={"dotnet": "7.0"}),
]  # fmt: skip

CASES = [*MAVEN, *GRADLE, *OTHERS]
