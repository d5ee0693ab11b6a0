# Values as a page shows them: tables as HTML, and what a class says of itself by methods of knitr's or IRkernel's kind.
# Where knitr is not installed, the few functions that documents use of it are here.

most_rows <- 50L
most_columns <- 50L

escaped_html <- function(text) {
  text <- gsub("&", "&amp;", text, fixed = TRUE)
  text <- gsub("<", "&lt;", text, fixed = TRUE)
  gsub(">", "&gt;", text, fixed = TRUE)
}

# A data frame as a table of HTML, its first rows.
html_table <- function(value) {
  first <- value[seq_len(min(nrow(value), most_rows)), seq_len(min(ncol(value), most_columns)), drop = FALSE]
  named <- !is.integer(attr(value, "row.names"))
  sides <- vapply(first, function(column) if (is.numeric(column)) " align=\"right\"" else "", "")
  cells <- lapply(first, function(column) {
    texts <- if (is.list(column)) vapply(column, function(each) paste(format(each), collapse = ", "), "") else format(column)
    if (is.null(dim(column))) texts[is.na(column)] <- "NA"
    escaped_html(substr(trimws(as.character(texts)), 1L, 400L))
  })
  heads <- paste0("<th", sides, ">", escaped_html(names(first)), "</th>", collapse = "")
  rows <- if (nrow(first)) do.call(paste0, Map(function(side, texts) paste0("<td", side, ">", texts, "</td>"), sides, cells)) else character()
  if (named) {
    heads <- paste0("<th></th>", heads)
    rows <- paste0("<th>", escaped_html(row.names(first)), "</th>", rows)
  }
  more <- if (nrow(value) > nrow(first)) sprintf("<p>%d rows in all, the first %d here</p>", nrow(value), nrow(first)) else ""
  body <- paste0("<tr>", rows, "</tr>", collapse = "")
  if (!length(rows)) body <- ""
  paste0("<table><thead><tr>", heads, "</tr></thead><tbody>", body, "</tbody></table>", more)
}

method_of <- function(generic, value) {
  for (each in class(value)) {
    method <- get0(paste0(generic, ".", each), envir = globalenv(), mode = "function")
    if (is.null(method) && exists(generic, envir = globalenv(), mode = "function")) {
      method <- utils::getS3method(generic, each, optional = TRUE, envir = globalenv())
    }
    if (!is.null(method)) return(method)
  }
  NULL
}

one_text <- function(made) if (is.character(made) && length(made)) paste(unclass(made), collapse = "\n") else NULL

# The richest form of a value as list(media_type, text); NULL where that is what print() writes.
rich_form <- function(value) {
  if (inherits(value, "knitr_kable")) {
    kind <- if (identical(attr(value, "format"), "html")) "text/html" else "text/markdown"
    return(list(kind, one_text(value)))
  }
  if (inherits(value, c("knit_asis"))) return(list("text/markdown", one_text(value)))
  if (is.object(value)) {
    if (!is.null(method <- method_of("knit_print", value))) {
      made <- one_text(method(value, options = list()))
      if (!is.null(made)) return(list("text/markdown", made))
    }
    kinds <- c(repr_html = "text/html", repr_svg = "image/svg+xml", repr_markdown = "text/markdown", repr_latex = "text/latex")
    for (generic in names(kinds)) {
      if (is.null(method <- method_of(generic, value))) next
      made <- one_text(method(value))
      if (!is.null(made)) return(list(kinds[[generic]], made))
    }
    if (inherits(value, c("html", "shiny.tag", "shiny.tag.list"))) return(list("text/html", one_text(as.character(value))))
  }
  if (is.data.frame(value) && ncol(value)) return(list("text/html", html_table(value)))
  NULL
}

# -- a small part of knitr -------------------------------------------------------------------------------------------------

small_knitr <- function() {
  options_of <- function(...) {
    held <- list(...)
    list(
      get = function(name, default = FALSE) if (missing(name)) held else if (length(name) == 1L) held[[name]] else held[name],
      set = function(...) {
        given <- list(...)
        if (length(given) == 1L && is.list(given[[1L]]) && is.null(names(given))) given <- given[[1L]]
        held[names(given)] <<- given
        invisible(NULL)
      },
      append = function(...) invisible(NULL), merge = function(values) utils::modifyList(held, values),
      restore = function(target = list()) held <<- target, delete = function(keys) held[keys] <<- NULL
    )
  }
  kable <- function(x, format = "pipe", digits = getOption("digits"), row.names = NA, col.names = NA, align = NULL,
                    caption = NULL, ..., escape = TRUE) {
    x <- as.data.frame(x, stringsAsFactors = FALSE, optional = TRUE)
    digits <- rep_len(digits, max(1L, ncol(x)))
    numeric <- vapply(x, is.numeric, NA)
    cells <- lapply(seq_along(x), function(number) {
      column <- x[[number]]
      if (numeric[number]) column <- round(column, digits[number])
      text <- trimws(if (numeric[number]) format(column, digits = 15L, drop0trailing = TRUE) else as.character(column))
      text[is.na(column)] <- "NA"
      gsub("|", "\\|", gsub("\n", " ", text, fixed = TRUE), fixed = TRUE)
    })
    heads <- if (length(col.names) == 1L && is.na(col.names)) names(x) else col.names
    sides <- if (is.null(align)) ifelse(numeric, "r", "l") else rep_len(strsplit(paste(align, collapse = ""), "")[[1L]], ncol(x))
    named <- if (is.na(row.names)) !is.integer(attr(x, "row.names")) else row.names
    if (named) {
      cells <- c(list(rownames(x)), cells)
      heads <- c(" ", heads)
      sides <- c("l", sides)
    }
    marks <- c(l = ":---", r = "---:", c = ":---:")[sides]
    row <- function(texts) paste0("|", paste(texts, collapse = "|"), "|")
    rows <- if (nrow(x)) vapply(seq_len(nrow(x)), function(at) row(vapply(cells, `[`, "", at)), "") else character()
    text <- c(if (!is.null(caption)) c(paste0(": ", caption), ""), row(heads), row(marks), rows)
    structure(text, format = "pipe", class = "knitr_kable")
  }
  asis_output <- function(x, ...) structure(x, class = "knit_asis")
  include_graphics <- function(path, ...) asis_output(paste0("![](", path, ")", collapse = "\n\n"))
  list(
    kable = kable, kables = function(x, ...) asis_output(paste(vapply(x, paste, "", collapse = "\n"), collapse = "\n\n")),
    asis_output = asis_output, include_graphics = include_graphics,
    knit_print = function(x, ...) UseMethod("knit_print"), normal_print = function(x, ...) print(x),
    opts_chunk = options_of(echo = TRUE), opts_knit = options_of(), knit_hooks = options_of(), opts_hooks = options_of(),
    opts_current = options_of(), is_html_output = function(...) TRUE, is_latex_output = function() FALSE,
    pandoc_to = function(...) "html", current_input = function(...) "document",
    combine_words = function(words, sep = ", ", and = " and ", ...) {
      words <- as.character(words)
      count <- length(words)
      if (count < 2L) return(words)
      if (count == 2L) return(paste0(words[1L], and, words[2L]))
      paste0(paste(words[-count], collapse = sep), sub("^ ", "", paste0(sep, sub("^ ", "", and))), words[count])
    }
  )
}

register_small_knitr <- function(hooks) {
  functions <- small_knitr()
  namespace <- new.env(parent = baseenv())
  list2env(functions, namespace)
  exports <- new.env(parent = emptyenv())
  for (name in names(functions)) assign(name, name, exports)
  facts <- new.env(parent = baseenv())
  list2env(list(spec = c(name = "knitr", version = "1.0"), exports = exports, lazydata = new.env(), imports = list(base = TRUE), dynlibs = NULL, S3methods = matrix(NA_character_, 0L, 4L)), facts)
  assign(".__NAMESPACE__.", facts, namespace)
  assign(".packageName", "knitr", namespace)
  .Internal(registerNamespace("knitr", namespace))
  list2env(functions, hooks)
  written <- function(x, ...) cat(x, sep = "\n")
  for (class in c("knitr_kable", "knit_asis")) registerS3method("print", class, written, envir = namespace)
  # It is attached already.
  passing <- function(attach) {
    function(package, ..., character.only = FALSE) {
      if (!missing(package)) {
        name <- if (character.only) package else as.character(substitute(package))
        if (identical(name, "knitr") || identical(name, "rmarkdown")) return(invisible(TRUE))
      }
      call <- sys.call()
      call[[1L]] <- attach
      eval(call, parent.frame())
    }
  }
  assign("library", passing(base::library), hooks)
  assign("require", passing(base::require), hooks)
}
