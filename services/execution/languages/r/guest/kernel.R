# The R kernel: one global environment, requests from descriptor 3 (as R expressions), claims on descriptor 4 (as JSON).
# How a call ended is not among them: init sees it in the size of the read that this process rests in (guest/resting.py).
# Everything of ours lives in one environment of its own, so that rm(list = ls()) of the code's takes nothing away. It finds the
# functions of base that it uses as they were before there was any code; methods of the code's are found behind them.
invisible(.Internal(enableJIT(0L))) # compiling what is called so rarely costs more than it saves
local({
  open_requests <- function() fifo("/proc/self/fd/3", open = "rb", blocking = TRUE) # reads as much as it is asked for, no more
  requests <- open_requests()
  replies <- file("/proc/self/fd/4", open = "wb", raw = TRUE)
  nonce <- ""
  shown <- 0L
  plots <- 0L
  plot_size <- NULL # inches of the plots of this call
  longest <- 10000L
  jit <- 3L # R's default, for the code alone

  for (part in c("json.R", "tables.R", "shown.R")) sys.source(file.path(guest, part), environment())

  comparing <- new.env(parent = baseenv())
  sys.source(file.path(guest, "digests.R"), comparing)
  code_so_far <- ""
  start <- NULL

  # closeAllConnections() takes ours too, and others may get their numbers; what they read from and write to is still there.
  lives <- function(connection, path) {
    tryCatch(isOpen(connection) && summary(connection)$description == path, error = function(problem) FALSE)
  }

  send <- function(message) {
    if (!lives(replies, "/proc/self/fd/4")) replies <<- file("/proc/self/fd/4", open = "wb", raw = TRUE)
    body <- charToRaw(enc2utf8(json(c(message, list(nonce = nonce)))))
    if (length(body) > 16000000L) {
      if (message$t == "display") return(send(list(t = "unshown")))
      error <- list(type = "TooLarge", message = "What it answers is too large.", traceback = "", limit = NULL)
      body <- charToRaw(json(list(t = "result", error = error, nonce = nonce)))
    }
    writeBin(length(body), replies, size = 4L, endian = "big")
    writeBin(body, replies)
    flush(replies)
    checksum(body)
  }

  checksum <- function(body) {
    total <- 1
    for (from in seq.int(1L, length(body), 1000000L)) {
      total <- (total + sum(as.integer(body[from:min(from + 999999L, length(body))]))) %% 65521
    }
    total %% 2003
  }

  # -- looks at values ---------------------------------------------------------------------------------------------

  shape_of <- function(value) tryCatch(sizes_of(value), error = function(problem) NULL)

  sizes_of <- function(value) {
    if (!is.null(dim(value))) return(always_list(as.integer(dim(value))))
    if (is.vector(value) && length(value) != 1L) return(always_list(length(value)))
    NULL
  }

  is_vast <- function(value) !is.data.frame(value) && !is.function(value) && utils::object.size(value) > 2e7

  view <- function(value) {
    printed <- tryCatch(
      paste(utils::capture.output(if (is_vast(value)) utils::str(value, nchar.max = 200L) else print(value)), collapse = "\n"),
      error = function(problem) paste0("<", class(value)[1L], ": it cannot be printed>")
    )
    list(type = class(value)[1L], shape = shape_of(value), text = substr(printed, 1L, longest))
  }

  is_plot <- function(value) inherits(value, c("gg", "ggplot", "recordedplot", "trellis", "grob"))

  # -- displays ----------------------------------------------------------------------------------------------------

  # A file of ours can be written whatever umask, or file, the code has left there.
  fresh <- function(path) {
    unlink(path)
    path
  }

  open_device <- function(...) {
    pixels <- if (is.null(plot_size)) c(1200, 800) else plot_size * 150
    grDevices::png("/out/plot-%03d.png", type = "cairo", width = pixels[1L], height = pixels[2L], res = 150)
  }

  show_plots <- function() {
    while (grDevices::dev.cur() > 1L) grDevices::dev.off()
    made <- sort(list.files("/out", pattern = "^plot-[0-9]+[.]png$"))
    for (name in made) {
      plots <<- plots + 1L
      kept <- sprintf("display-plot-%d.png", plots)
      file.rename(file.path("/out", name), file.path("/out", kept))
      send(list(t = "display", media_type = "image/png", file = kept))
    }
  }

  display <- function(value) {
    shown <<- shown + 1L
    if (shown == 51L) send(list(t = "unshown"))
    if (shown > 50L) return(invisible(NULL))
    if (is_plot(value)) {
      print(value)
      show_plots()
    } else if (!is.null(form <- rich_form(value))) {
      send(list(t = "display", media_type = form[[1L]], text = form[[2L]]))
    } else if (is.character(value) && length(value) == 1L) {
      send(list(t = "display", media_type = if (grepl("^\\s*<svg", value)) "image/svg+xml" else "text/plain", text = value))
    } else {
      send(list(t = "display", media_type = "text/plain", text = view(value)$text))
    }
    invisible(NULL)
  }

  # A warning of the code's own line names no call: ours is none of the reader's business.
  warn_at_top <- function(problem) {
    if (!identical(conditionCall(problem)[[1L]], eval) || getOption("warn") != 1L) return()
    cat("Warning: ", conditionMessage(problem), "\n", sep = "", file = stderr())
    invokeRestart("muffleWarning")
  }

  # -- operations --------------------------------------------------------------------------------------------------

  # Compile the code's own functions and loops, as R does and the code may change.
  compiling <- function(work) {
    .Internal(enableJIT(jit))
    on.exit(jit <<- .Internal(enableJIT(0L)))
    work
  }

  # With ``show`` what has a richer form than text is a display, as the values of a page are.
  run <- function(code, show = FALSE) {
    parsed <- parse(text = gsub("\r\n", "\n", code, fixed = TRUE), keep.source = FALSE, encoding = "UTF-8")
    last <- list(value = NULL, visible = FALSE)
    for (position in seq_along(parsed)) {
      last <- withCallingHandlers(compiling(withVisible(eval(parsed[[position]], globalenv()))), warning = warn_at_top)
      if (last$visible && position < length(parsed) && !(show && show_value(last$value, FALSE))) print(last$value)
    }
    last
  }

  show_value <- function(value, is_last) {
    form <- if (is_plot(value)) NULL else rich_form(value)
    if (is.null(form)) return(FALSE)
    shown <<- shown + 1L
    if (shown == 51L) send(list(t = "unshown"))
    if (shown <= 50L) send(list(t = "display", media_type = form[[1L]], text = form[[2L]], value = is_last))
    TRUE
  }

  described_result <- function(last, take) {
    value <- last$value
    on_page <- take == "shown"
    if (on_page) {
      if (last$visible) show_value(value, TRUE)
      take <- "view"
    }
    if (take != "view" && exists("result", envir = globalenv(), inherits = FALSE)) {
      value <- get("result", envir = globalenv())
      last$visible <- TRUE
    }
    made <- list(class = class(value)[1L])
    drawn <- is_plot(value) && (last$visible || take == "plot")
    if (drawn && take == "plot") {
      grDevices::png(fresh("/out/result.png"), type = "cairo", width = 1200, height = 800, res = 150)
      print(value)
      grDevices::dev.off()
      made <- c(made, list(plot = "result.png", plot_type = "image/png"))
    } else if (drawn) {
      print(value)
    } else if (take == "plot" && grDevices::dev.cur() > 1L) {
      while (grDevices::dev.cur() > 1L) grDevices::dev.off()
      pages <- sort(list.files("/out", pattern = "^plot-[0-9]+[.]png$"), decreasing = TRUE)
      if (length(pages)) {
        file.rename(file.path("/out", pages[1L]), "/out/result.png")
        made <- c(list(class = "plot", plot = "result.png", plot_type = "image/png"))
      }
    }
    if (take != "view" && is.data.frame(value)) {
      made <- c(made, list(table = "result.table", columns = write_table(value, fresh("/out/result.table")), rows = nrow(value)))
    }
    if (drawn && on_page) last$visible <- FALSE # it is in the page as what it draws
    if (last$visible || take != "view") made <- c(made, list(value = if (is_plot(value)) plot_view(value) else view(value)))
    made
  }

  plot_view <- function(value) list(type = class(value)[1L], shape = NULL, text = paste0("<", class(value)[1L], ">"))

  typed <- function(value, name) {
    look <- if (is_plot(value)) plot_view(value) else view(value)
    if (is.data.frame(value)) {
      columns <- write_table(value, fresh(file.path("/out", name)))
      plain <- is.integer(attr(value, "row.names"))
      notes <- if (plain) list() else list("its row names stay behind")
      notes <- structure(json(notes), class = "json")
      return(c(look, list(kind = "table", file = name, columns = columns, rows = nrow(value), notes = notes)))
    }
    c(look, exactly(value))
  }

  look_at <- function(value, whole) {
    if (is.data.frame(value)) return(look_table(value, if (whole) 10L else 1L))
    size <- as.numeric(utils::object.size(value))
    look <- if (is_plot(value)) plot_view(value) else view(value)
    if (is_plot(value)) return(c(look, list(kind = "figure", bytes = size)))
    c(look, list(bytes = size), exactly(value))
  }

  own_values <- function(names) {
    Filter(function(name) exists(name, envir = globalenv(), inherits = FALSE), names)
  }

  # Names whose values are seen without a run of the code's own: its bindings, promises, and methods for its classes.
  passive_values <- function(names) {
    known <- c("factor", "ordered", "AsIs", "Date", "POSIXct", "POSIXt", "difftime", "data.frame")
    Filter(function(name) {
      if (bindingIsActive(as.name(name), globalenv()) || comparing$is_lazy(name, code_so_far)) return(FALSE)
      value <- get(name, envir = globalenv())
      !is.object(value) || all(class(value) %in% known)
    }, names)
  }

  operations <- list(
    execute = function(request) {
      plot_size <<- if (is.null(request$figure)) NULL else as.numeric(unlist(request$figure))
      if (!is.null(request$seed)) set.seed(request$seed %% .Machine$integer.max)
      for (frame in request$frames) assign(frame$name, read_table(frame$path, frame$columns), envir = globalenv())
      if (!is.null(start)) code_so_far <<- paste(code_so_far, request$code)
      described_result(run(request$code, request$take == "shown"), request$take)
    },
    evaluate = function(request) {
      value <- compiling(eval(parse(text = request$code, encoding = "UTF-8"), globalenv()))
      made <- list(value = view(value), class = class(value)[1L])
      if (!is.null(request$file)) made <- c(made, list(typed = typed(value, request$file)))
      made
    },
    look = function(request) {
      names <- own_values(as.character(unlist(request$names)))
      if (isTRUE(request$passive)) names <- passive_values(names)
      looks <- lapply(names, function(name) look_at(get(name, envir = globalenv()), name %in% unlist(request$whole)))
      names(looks) <- names
      list(looks = if (length(looks)) looks else structure("{}", class = "json"))
    },
    digests = function(request) {
      if (is.null(start)) start <<- comparing$digests_start()
      list(digests = structure(json(comparing$digests(start, code_so_far)), class = "json"))
    },
    restore = function(request) {
      if (request$part == "@random") {
        assign(".Random.seed", as.integer(strsplit(request$keep, " ", fixed = TRUE)[[1L]]), envir = globalenv())
      }
      list()
    },
    picture = function(request) {
      value <- get(request$name, envir = globalenv(), inherits = FALSE)
      if (!is_plot(value)) stop("it is not a figure")
      grDevices::png(fresh("/out/picture.png"), type = "cairo", width = 1200, height = 800, res = 150)
      print(value)
      grDevices::dev.off()
      list(picture = "picture.png")
    },
    get = function(request) list(typed = typed(get(request$name, envir = globalenv(), inherits = FALSE), request$file)),
    set = function(request) {
      sent <- request$typed
      if (sent$kind == "table") {
        assign(request$name, read_table(sent$path, sent$columns), envir = globalenv())
        return(list())
      }
      assign(request$name, sent$exact, envir = globalenv())
      exactly(sent$exact)
    },
    list = function(request) {
      names <- Filter(function(name) !is.function(get(name, envir = globalenv())), ls(globalenv()))
      described <- lapply(names, function(name) {
        value <- get(name, envir = globalenv())
        size <- as.numeric(utils::object.size(value))
        list(name = name, type = class(value)[1L], shape = shape_of(value), bytes = size)
      })
      list(variables = structure(json(unname(described)), class = "json"))
    },
    remove = function(request) {
      suppressWarnings(rm(list = request$name, envir = globalenv()))
      list()
    },
    info = function(request) list(language = "r", version = paste(R.version$major, R.version$minor, sep = ".")),
    packages = function(request) {
      versions <- utils::installed.packages()[, "Version"]
      list(packages = as.list(versions[!duplicated(names(versions))]))
    }
  )

  # -- the loop ----------------------------------------------------------------------------------------------------

  described <- function(problem, calls) {
    message <- conditionMessage(problem)
    limit <- NULL
    if (grepl("cannot allocate|memory exhausted", message)) limit <- "memory"
    if (grepl("No space left|File too large", message)) limit <- "disk"
    if (grepl("Resource temporarily unavailable|unable to fork", message)) limit <- "processes"
    where <- conditionCall(problem)
    where <- if (is.null(where)) "" else deparse(where, nlines = 1L)[1L]
    head <- if (where == "" || grepl("^((eval|parse|get)\\(|[(]function [(]expr, envir)", where)) "Error: " else paste0("Error in ", where, " : ")
    kind <- setdiff(class(problem), c("condition"))[1L]
    list(type = kind, message = message, traceback = paste(c(paste0(head, message), calls), collapse = "\n"), limit = limit)
  }

  undescribed <- function(kind) list(type = kind, message = kind, traceback = "", limit = NULL)

  operate <- function(request) allowInterrupts(operations[[request$op]](request))

  # How the operation ended (0: it returned, 1: it raised), and what is to be claimed of it. Only its return gives the first list.
  judged <- function(request) {
    calls <- character()
    failed <- NULL # the error that no handler of the code's has taken: what unwinds from it may still quit
    tryCatch(
      withRestarts(
        withCallingHandlers(
          list(outcome = 0L, fields = operate(request)),
          error = function(problem) {
            lines <- vapply(sys.calls(), function(call) deparse(call, nlines = 1L)[1L], "")
            ours <- grep("^eval\\(parse\\(|^[(]function [(]expr, envir|^operations\\[\\[", lines) # by a name, or bound
            inner <- lines[seq_along(lines) > max(ours, 0L)]
            inner <- inner[!grepl("^(run|parse|h|stop|[.]handleSimpleError|described_result)\\(", inner)]
            calls <<- if (length(inner)) paste0("  at ", utils::head(inner, 20L)) else character()
            failed <<- problem
          }
        ),
        assay_quit = function(status) {
          if (!is.null(failed)) return(list(outcome = 1L, problem = failed, calls = calls))
          list(outcome = if (request$once && status == 0L) 0L else 1L, fields = list(exit = status))
        }
      ),
      error = function(problem) list(outcome = 1L, problem = problem, calls = calls),
      interrupt = function(problem) list(outcome = 1L, problem = simpleError("interrupted"), interrupted = TRUE)
    )
  }

  # Its outcome, then the checksum of its claims: nothing that runs for those can change the outcome any more.
  answer <- function(request) {
    if (nonce == "") setwd("/work") # init may have put another folder there for the run
    nonce <<- request$nonce
    shown <<- 0L
    (ended <- judged(request))$outcome + 4L * ((as.integer(claim(request, ended)) + request$mark) %% 2003L)
  }

  # Claims what the operation gave; worth the checksum of the claims.
  claim <- function(request, ended) {
    reply <- c(list(t = "result", error = NULL), ended$fields)
    if (!is.null(ended$problem)) {
      error <- tryCatch(
        described(ended$problem, ended$calls),
        error = function(problem) undescribed("error"), interrupt = function(problem) undescribed("interrupt")
      )
      if (!is.null(ended$interrupted)) error$type <- "interrupt"
      reply <- list(t = "result", error = error)
      if (request$once && identical(request$take, "view")) cat(error$traceback, "\n", sep = "", file = stderr())
    }
    while (sink.number() > 0L) sink()
    try(show_plots(), silent = TRUE)
    flush(stdout())
    # The code may have closed the way: its values are lost then, but not how it ended.
    tryCatch(send(reply), error = function(problem) 0)
  }

  # In a function: init must not take its reads for the one that this process rests in.
  next_request <- function(head) {
    size <- sum(as.integer(head[1:4]) * c(16777216, 65536, 256, 1))
    body <- head[-(1:4)]
    while (length(body) < size) {
      part <- readBin(requests, "raw", size - length(body))
      if (length(part) == 0L) base::quit(save = "no", runLast = FALSE)
      body <- c(body, part)
    }
    source <- rawToChar(body)
    Encoding(source) <- "UTF-8"
    eval(parse(text = source, keep.source = FALSE, encoding = "UTF-8"))
  }

  # -- what code cannot replace ------------------------------------------------------------------------------------

  # The expression with functions in the place of their names, so that no name of the code's is found instead.
  bound <- function(part) {
    if (!is.call(part)) return(part)
    if (is.name(part[[1L]])) part[[1L]] <- get(as.character(part[[1L]]), mode = "function")
    at <- if (identical(part[[1L]], `function`)) 3L else seq_along(part)[-1L]
    for (position in at) if (is.call(part[[position]])) part[[position]] <- bound(part[[position]])
    part
  }

  # What an earlier call may have replaced, as it was before there was any code.
  put_back <- function(space, kept) {
    names <- ls(space, all.names = TRUE)
    rm(list = names[names %in% kept$replaced], envir = space)
    list2env(kept$own, envir = space)
    list2env(kept$base, envir = parent.env(space))
  }

  kept_of <- function(space) {
    own <- Filter(function(value) is.function(value), as.list(space, all.names = TRUE))
    own$operations <- space$operations
    base <- as.list(parent.env(space), all.names = TRUE)
    list(own = own, base = base, replaced = union(names(own), setdiff(names(base), ls(space, all.names = TRUE))))
  }

  options(
    device = open_device, warn = 1L, width = 120L, max.print = 2000L, browserNOK = TRUE, menu.graphics = FALSE,
    repos = character(), pillar.width = 120L
  )
  for (name in c("stats", "utils", "grDevices")) requireNamespace(name, quietly = TRUE)
  hooks <- attach(NULL, name = "assay")
  if (!nzchar(system.file(package = "knitr"))) register_small_knitr(hooks)
  assign("display", display, envir = hooks)
  # Nobody is there to type, and R does not quit while it waits for that.
  for (name in c("browser", "debug", "debugonce")) assign(name, function(...) invisible(NULL), envir = hooks)
  # A script that quits has come to its end, and what it did counts; base::quit() ends the interpreter before that.
  quit <- function(save = "default", status = 0L, runLast = TRUE) {
    invokeRestart("assay_quit", as.integer(status)[1L])
  }
  for (name in c("quit", "q")) assign(name, quit, envir = hooks)
  setwd("/work")
  set.seed(NULL)
  send(list(t = "hello"))
  count <- 0L
  space <- environment()
  # An interrupt is for a call that runs: one in the middle of a message would take that away.
  for (part in c("put_back", "run", "operate", "judged", "answer")) body(space[[part]]) <- bound(body(space[[part]]))
  eval(bound(bquote(suspendInterrupts(repeat {
    put_back(.(space), .(kept_of(space)))
    resting <- if (count == 0L) 8L else 16L + 2L * (count %% 2L) + answer(request)
    if (!lives(requests, "/proc/self/fd/3")) requests <- open_requests()
    head <- readBin(requests, "raw", resting)
    while (length(head) > 0L && length(head) < 4L) head <- c(head, readBin(requests, "raw", 1L))
    if (length(head) == 0L) break
    tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(late) NULL)
    tempdir(check = TRUE) # made anew: gVisor mounts another /tmp when a run begins
    request <- next_request(head)
    count <- count + 1L
  }))))
}, envir = local({
  guest <- dirname(commandArgs()[match("-f", commandArgs()) + 1L])
  used <- unlist(lapply(file.path(guest, c("kernel.R", "json.R", "tables.R", "shown.R")), function(part) all.names(parse(part))))
  used <- intersect(used, ls(baseenv(), all.names = TRUE))
  kernel <- new.env(parent = list2env(mget(used, envir = baseenv()), parent = globalenv()))
  assign("guest", guest, envir = kernel)
  kernel
}))
