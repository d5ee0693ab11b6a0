# What every name holds, in short: equal digests are equal values, down to which environments of them are one.
# It is read into an environment that sees base alone: what the code defines takes no function of ours away.

digests_seconds <- 0.5
digests_leads <- c(
  "get", "mget", "get0", "exists", "eval", "evalq", "parse", "str2lang", "str2expression", "ls", "objects", "globalenv",
  ".GlobalEnv", "parent.frame", "sys.frame", "sys.function", "environment", "eapply", "dynGet", "source", "as.environment",
  "rm", "remove", "save.image", "topenv", "pos.to.env", "list2env", "env2list"
)
digests_patches <- "assignInNamespace|assignInMyNamespace|unlockBinding|unlockNamespace|untrace|\\btrace\\b|\\b(un)?debug(once)?\\s*\\("
# Functions that set what a package keeps for itself.
digests_settings <- "\\b(theme_(set|update|replace)|update_(geom|stat)_defaults|register_\\w+|\\w+\\.options|trellis\\.par\\.set)\\s*\\("

undetermined <- function(why) stop(structure(class = c("undetermined", "error", "condition"), list(message = why, call = NULL)))

reader <- function() {
  state <- new.env(parent = emptyenv())
  state$environments <- list()
  state$refs <- character()
  state$count <- 0L
  state
}

number_of <- function(state, environment) {
  for (position in seq_along(state$environments)) if (identical(state$environments[[position]], environment)) return(position)
  0L
}

is_plain <- function(attributes) all(vapply(attributes, function(each) is.atomic(each) && is.null(attributes(each)), NA))

# A value in lists and vectors alone, which serialize() writes alike each time.
skeleton <- function(value, state) {
  state$count <- state$count + 1L
  if (state$count %% 100L == 0L && sum(proc.time()[1:2]) > state$until) undetermined("comparing it takes too long")
  kind <- typeof(value)
  if (kind == "environment") return(list(environment_skeleton(value, state), attributes_skeleton(value, state)))
  if (kind == "closure") return(function_skeleton(value, state))
  if (kind %in% c("builtin", "special")) return(list(kind, deparse(value)))
  if (kind %in% c("symbol", "language", "expression")) {
    state$refs <- c(state$refs, all.names(value))
    return(list(kind, deparse(value, control = c("keepNA", "keepInteger", "digits17")), attributes_skeleton(value, state)))
  }
  if (inherits(value, "connection")) undetermined("a connection cannot be compared")
  if (kind %in% c("externalptr", "weakref", "bytecode", "promise", "...")) undetermined(paste(kind, "objects cannot be compared"))
  if (kind == "S4") return(list(kind, attributes_skeleton(value, state)))
  if (kind == "pairlist") value <- as.list(value)
  if (kind == "list" || kind == "pairlist") {
    return(list("list", lapply(unname(unclass(value)), skeleton, state), attributes_skeleton(value, state)))
  }
  if (kind == "character" && length(value) <= 100L) state$refs <- c(state$refs, intersect(value, globals)) # a function's name?
  if (is.null(attributes(value))) return(value)
  plain <- value
  attributes(plain) <- NULL
  list(kind, plain, attributes_skeleton(value, state))
}

attributes_skeleton <- function(value, state) {
  held <- attributes(value)
  held[c("srcref", "srcfile", "wholeSrcref", "versionKey")] <- NULL
  if (is.null(held) || is_plain(held)) return(list(held, isS4(value)))
  list(names(held), lapply(unname(held), skeleton, state), isS4(value))
}

function_skeleton <- function(value, state) {
  around <- environment(value)
  if (isNamespace(around)) {
    name <- getNamespaceName(around)[[1L]]
    return(list("of a package", name, deparse(args(value)), deparse(body(value), nlines = 30L)))
  }
  words <- all.names(body(value))
  replacing <- if (any(c("<-", "<<-", "=") %in% words)) paste0(words, "<-")
  state$refs <- c(state$refs, words, replacing, unlist(lapply(formals(value), all.names)), texts_in(body(value)))
  if (calls_by_text(body(value))) state$refs <- c(state$refs, "@everything")
  shown <- c("keepNA", "keepInteger", "digits17")
  list("function", deparse(formals(value), control = shown), deparse(body(value), control = shown), environment_skeleton(around, state), attributes_skeleton(value, state))
}

texts_in <- function(value) {
  if (is.character(value)) return(unlist(regmatches(value, gregexpr("[A-Za-z.][A-Za-z0-9._]*", value))))
  if (is.call(value) || is.expression(value) || is.pairlist(value)) return(unlist(lapply(as.list(value), function(each) if (missing(each)) NULL else texts_in(each))))
  NULL
}

# Whether code calls a function by a text that it computes.
calls_by_text <- function(value) {
  if (!is.call(value) && !is.expression(value)) return(FALSE)
  if (is.call(value) && length(value) > 1L && is.symbol(value[[1L]]) && as.character(value[[1L]]) %in% c("do.call", "match.fun")) {
    called <- value[[2L]]
    if (is.call(called) && !identical(called[[1L]], quote(`function`)) && !identical(called[[1L]], quote(`::`))) return(TRUE)
  }
  any(vapply(as.list(value), function(each) !missing(each) && calls_by_text(each), NA))
}

environment_skeleton <- function(environment, state) {
  if (identical(environment, globalenv())) return("global")
  if (identical(environment, baseenv()) || identical(environment, emptyenv()) || isNamespace(environment)) return(environmentName(environment))
  if (grepl("^(package:|imports:)", environmentName(environment)) || !is.null(attr(environment, "path"))) return(environmentName(environment))
  number <- number_of(state, environment)
  if (number > 0L) return(list("@", number))
  if (length(state$environments) > 300L) undetermined("it holds too many environments to compare")
  state$environments <- c(state$environments, list(environment))
  names <- sort(setdiff(ls(environment, all.names = TRUE), c(".refClassDef", ".Generator")), method = "radix")
  lazy <- FALSE
  held <- lapply(names, function(name) {
    if (name == "...") undetermined("the arguments of a call that is over cannot be compared")
    if (bindingIsActive(as.name(name), environment)) {
      if (exists(paste0(".->", name), envir = environment, inherits = FALSE)) return(NULL) # a field, which holds its value there
      undetermined(paste("the active binding", name, "cannot be compared"))
    }
    shown <- eval(call("substitute", as.name(name), environment), baseenv())
    if (is.symbol(shown) || is.call(shown)) { # an argument that may not have been needed yet
      lazy <<- TRUE
      state$refs <- c(state$refs, all.names(shown))
      return(NULL)
    }
    skeleton(get(name, envir = environment, inherits = FALSE), state)
  })
  whole <- if (lazy) serialize(environment, NULL, version = 2L) else NULL
  locked <- names[vapply(names, bindingIsLocked, NA, env = environment)]
  list("environment", names, held, whole, environment_skeleton(parent.env(environment), state), environmentIsLocked(environment), locked)
}

# Whether a global name is a promise whose value was not needed yet: reading it would be its first use.
is_lazy <- function(name, code) {
  if (!grepl("delayedAssign|env_bind_lazy", code)) return(FALSE)
  if (!requireNamespace("rlang", quietly = TRUE)) return(TRUE)
  rlang::env_binding_are_lazy(globalenv(), name)[[1L]]
}

# Whether code may make an active binding in another environment than the global one, where each is seen.
binds_elsewhere <- function(code) {
  if (!grepl("makeActiveBinding", code, fixed = TRUE)) return(FALSE)
  words <- c("makeActiveBinding", "globalenv") # by another name, or redefined
  binds <- function(value) {
    if (is.symbol(value)) return(as.character(value) %in% words)
    if (is.character(value)) return(any(words %in% value))
    if ((!is.call(value) && !is.expression(value)) || identical(value, quote(globalenv()))) return(FALSE)
    parts <- as.list(value)
    if (is.call(value) && identical(value[[1L]], quote(makeActiveBinding))) {
      around <- tryCatch(match.call(function(sym, fun, env) NULL, value)$env, error = function(problem) NULL)
      if (identical(around, quote(globalenv()))) parts <- parts[-1L]
    }
    any(vapply(parts, function(part) !missing(part) && binds(part), NA))
  }
  tryCatch(binds(parse(text = code, keep.source = FALSE)), error = function(problem) TRUE)
}

digest_of <- function(made) {
  file <- "/out/digest.bin"
  on.exit(unlink(file))
  writeBin(serialize(made, NULL, version = 2L, xdr = FALSE), file)
  unname(tools::md5sum(file))
}

said <- function(state, work) {
  state$until <- sum(proc.time()[1:2]) + digests_seconds
  made <- tryCatch(list(value = digest_of(work())), error = function(problem) {
    why <- if (inherits(problem, "undetermined")) conditionMessage(problem) else paste("comparing it failed:", conditionMessage(problem))
    list(value = NULL, why = substr(why, 1L, 200L))
  })
  refs <- unique(c(state$refs, if (is.null(made$value)) "@everything")) # what else it reads is not known
  if (any(digests_leads %in% refs)) refs <- c(refs, "@everything")
  c(made, list(refs = as.list(refs)))
}

globals <- character() # the names of the last request

METADATA <- "^\\.__|^\\.requireCachedGenerics$"

digests <- function(start, code) {
  global <- globalenv()
  all <- ls(global, all.names = TRUE)
  globals <<- all
  names <- sort(all[!grepl(METADATA, all) & all != ".Random.seed" & all != ".Last.value"], method = "radix")
  made <- list()
  owners <- list()
  environments <- list()
  for (name in names) {
    state <- reader()
    made[[name]] <- if (bindingIsActive(as.name(name), global)) {
      list(value = NULL, why = "an active binding cannot be compared", refs = list("@everything"))
    } else if (is_lazy(name, code)) {
      list(value = NULL, why = "a promise cannot be compared", refs = list("@everything"))
    } else {
      locked <- bindingIsLocked(name, global)
      said(state, function() {
        held <- skeleton(get(name, envir = global, inherits = FALSE), state)
        if (locked) list("locked", held) else held
      })
    }
    for (each in state$environments) {
      at <- 0L
      for (position in seq_along(environments)) if (identical(environments[[position]], each)) at <- position
      if (at == 0L) {
        environments <- c(environments, list(each))
        owners <- c(owners, list(name))
      } else owners[[at]] <- unique(c(owners[[at]], name))
    }
  }
  for (group in together(owners)) {
    state <- reader()
    shared <- said(state, function() lapply(group, function(name) skeleton(get(name, envir = global, inherits = FALSE), state)))
    common <- digest_of(list(group, shared$value))
    for (name in group) made[[name]]$shared <- common
  }
  seed <- get0(".Random.seed", envir = global, inherits = FALSE)
  made[["@random"]] <- list(value = digest_of(seed), refs = list(), keep = paste(seed, collapse = " "))
  made[["@classes"]] <- part(function(state) lapply(sort(grep(METADATA, all, value = TRUE), method = "radix"), function(name) {
    list(name, skeleton(get(name, envir = global), state))
  }))
  made[["@builtins"]] <- if (grepl(digests_patches, code) || grepl(digests_settings, code) || binds_elsewhere(code)) {
    list(value = NULL, why = "a package may have been changed", refs = list())
  } else part(function(state) builtins_skeleton(start, state))
  made[["@methods"]] <- part(function(state) methods_skeleton(names, state))
  made[["@process"]] <- part(function(state) {
    variables <- Sys.getenv()
    variables <- variables[names(variables) != "R_SESSION_TMPDIR"] # each R has another one
    list(as.list(variables), getwd(), Sys.getlocale(), Sys.umask())
  })
  made[["@files"]] <- part(function(state) files_skeleton())
  made
}

part <- function(work) {
  state <- reader()
  made <- said(state, function() work(state))
  made$refs <- list()
  made
}

# Names that share an environment, directly or by way of others.
together <- function(owners) {
  groups <- list()
  for (names in owners) {
    if (length(names) < 2L) next
    touching <- vapply(groups, function(group) any(names %in% group), NA)
    groups <- c(groups[!touching], list(sort(unique(c(names, unlist(groups[touching]))), method = "radix")))
  }
  groups
}

builtins_skeleton <- function(start, state) {
  open <- setdiff(getAllConnections(), start$connections)
  if (length(open)) undetermined("a connection of the code is still open")
  attached <- lapply(setdiff(search(), c(".GlobalEnv", "assay", "Autoloads")), function(name) {
    around <- as.environment(name)
    if (is.null(attr(around, "path")) && name != "package:base") list(name, attached_skeleton(around, state)) else name
  })
  methods <- registered_methods()
  added <- names(methods)[!vapply(names(methods), function(name) identical(methods[[name]], start$methods[[name]]), NA)]
  added <- added[vapply(added, function(name) !isNamespace(environment(methods[[name]])), NA)]
  set <- options()
  set <- set[!vapply(names(set), function(name) (is.function(set[[name]]) || is.environment(set[[name]])) && identical(set[[name]], start$options[[name]]), NA)]
  list(attached, hooks_skeleton(start$hooks, state), added, lapply(unname(methods[added]), skeleton, state), skeleton(set, state), RNGkind(), if (isNamespaceLoaded("grDevices")) grDevices::palette())
}

# Functions that a generic function calls by the class of a value, without their names in the code.
methods_skeleton <- function(names, state) {
  global <- globalenv()
  is_method <- function(name) {
    if (bindingIsActive(as.name(name), global) || !is.function(get(name, envir = global))) return(FALSE)
    cuts <- gregexpr(".", name, fixed = TRUE)[[1L]]
    any(vapply(cuts[cuts > 1L], function(cut) exists(substr(name, 1L, cut - 1L), envir = global, mode = "function"), NA))
  }
  methods <- names[grepl(".", names, fixed = TRUE)]
  methods <- methods[vapply(methods, is_method, NA)]
  list(methods, lapply(methods, function(name) skeleton(get(name, envir = global), state)))
}

attached_skeleton <- function(environment, state) {
  names <- sort(ls(environment, all.names = TRUE), method = "radix")
  list(names, lapply(names, function(name) skeleton(get(name, envir = environment, inherits = FALSE), state)))
}

# Functions that setHook was given, without those that were there at the start.
hooks_skeleton <- function(start, state) {
  hooks <- hooks_set()
  lapply(names(hooks), function(name) {
    each <- hooks[[name]]
    if (identical(each, start[[name]])) return(name)
    if (is.function(each)) each <- list(each)
    # A package that is loaded waits for others with functions in frames of its own.
    own <- vapply(each, function(hook) startsWith(name, "UserHook::") && is.function(hook) && isNamespace(topenv(environment(hook))), NA)
    list(name, lapply(each[own], deparse), lapply(each[!own], skeleton, state))
  })
}

hooks_set <- function() {
  held <- as.list.environment(.userHooksEnv, all.names = TRUE)
  held[order(as.character(names(held)), method = "radix")]
}

# Methods that were registered with generics of base.
registered_methods <- function() {
  held <- .BaseNamespaceEnv[[".__S3MethodsTable__."]]
  if (is.null(held)) return(list())
  held <- as.list.environment(held, all.names = TRUE)
  held[order(as.character(names(held)), method = "radix")]
}

files_skeleton <- function() {
  temporary <- tempdir()
  files <- sort(list.files(c("/work", "/tmp", "/dev/shm"), all.files = TRUE, full.names = TRUE, recursive = TRUE, include.dirs = TRUE, no.. = TRUE), method = "radix")
  files <- files[files != temporary & !startsWith(files, "/dev/shm/.")]
  files <- sub(temporary, "/temporary", files, fixed = TRUE)
  real <- sub("/temporary", temporary, files, fixed = TRUE)
  about <- file.info(real, extra_cols = FALSE)
  set <- abs(as.numeric(about$mtime) - as.numeric(about$ctime)) > 60 # seconds: the code has set the time itself
  list(files, unname(tools::md5sum(real)), as.integer(about$mode), as.numeric(about$mtime)[set])
}

digests_start <- function() {
  list(connections = getAllConnections(), hooks = hooks_set(), methods = registered_methods(), options = options())
}
