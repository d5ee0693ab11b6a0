# Messages as JSON, and values as JSON without loss: what JSON has no word for is {"$": kind, "v": ...}, as in every language's kernel.
# Read by kernel.R into its own environment.

text <- function(value) {
  value <- iconv(enc2utf8(as.character(value)), "UTF-8", "UTF-8", sub = "byte")
  value <- gsub("\\", "\\\\", value, fixed = TRUE)
  value <- gsub("\"", "\\\"", value, fixed = TRUE)
  value <- gsub("\n", "\\n", value, fixed = TRUE)
  value <- gsub("\r", "\\r", value, fixed = TRUE)
  value <- gsub("\t", "\\t", value, fixed = TRUE)
  odd <- grepl("[\001-\037\177]", value, useBytes = TRUE)
  if (any(odd, na.rm = TRUE)) {
    for (code in c(1:31, 127L)) value <- gsub(rawToChar(as.raw(code)), sprintf("\\u%04x", code), value, fixed = TRUE)
  }
  paste0("\"", value, "\"")
}

number <- function(value) {
  ifelse(is.finite(value), format(value, digits = 17L, scientific = NA, trim = TRUE, justify = "none"), "null")
}

scalar <- function(value) {
  if (is.logical(value)) return(ifelse(is.na(value), "null", ifelse(value, "true", "false")))
  if (is.numeric(value)) return(vapply(as.numeric(value), number, ""))
  ifelse(is.na(value), "null", text(value))
}

json <- function(value) {
  if (is.null(value)) return("null")
  if (inherits(value, "json")) return(unclass(value))
  if (is.factor(value)) value <- as.character(value)
  if (inherits(value, c("Date", "POSIXct", "difftime"))) value <- format(value)
  if (is.list(value)) {
    inner <- vapply(value, json, "", USE.NAMES = FALSE)
    if (is.null(names(value))) return(paste0("[", paste(inner, collapse = ","), "]"))
    return(paste0("{", paste(paste0(text(names(value)), ":", inner), collapse = ","), "}"))
  }
  if (!is.atomic(value) || is.complex(value) || is.raw(value)) stop("no plain value")
  parts <- scalar(value)
  if (length(value) == 1L && is.null(names(value))) return(parts)
  if (is.null(names(value))) return(paste0("[", paste(parts, collapse = ","), "]"))
  paste0("{", paste(paste0(text(names(value)), ":", parts), collapse = ","), "}")
}

always_list <- function(value) structure(json(as.list(unname(value))), class = "json")

# -- exact values --------------------------------------------------------------------------------------------------

deepest <- 60L
most_items <- 200000L
most_characters <- 4000000L

tagged <- function(kind, value, more = "") paste0("{\"$\":\"", kind, "\",\"v\":", value, more, "}")

reals <- function(values) {
  written <- sprintf("%.17g", values)
  whole <- is.finite(values) & !grepl("[.e]", written)
  written[whole] <- paste0(written[whole], ".0")
  written[is.nan(values)] <- tagged("float", "\"nan\"")
  written[is.infinite(values)] <- ifelse(values[is.infinite(values)] > 0, tagged("float", "\"inf\""), tagged("float", "\"-inf\""))
  written[is.na(values) & !is.nan(values)] <- "null"
  written
}

moments <- function(values) {
  zone <- attr(values, "tzone")[1L]
  if (is.null(zone)) zone <- ""
  seconds <- unclass(values)
  attributes(seconds) <- NULL
  seconds <- round(seconds * 1e6) / 1e6
  whole <- floor(seconds)
  micro <- round((seconds - whole) * 1e6)
  at <- .POSIXct(whole, tz = zone)
  written <- paste0(format(at, "%Y-%m-%dT%H:%M:%S"), ifelse(micro > 0, sprintf(".%06d", as.integer(micro)), ""))
  if (zone != "") {
    offset <- format(at, "%z")
    written <- paste0(written, substr(offset, 1L, 3L), ":", substr(offset, 4L, 5L))
  }
  more <- if (zone == "") "" else paste0(",\"zone\":", text(zone))
  ifelse(is.na(seconds), "null", tagged("datetime", paste0("\"", written, "\""), more))
}

base64 <- function(bytes) {
  if (length(bytes) == 0L) return("")
  signs <- c(LETTERS, letters, 0:9, "+", "/")
  gap <- (3L - length(bytes) %% 3L) %% 3L
  three <- matrix(as.integer(c(bytes, raw(gap))), nrow = 3L)
  whole <- three[1L, ] * 65536L + three[2L, ] * 256L + three[3L, ]
  made <- rbind(whole %/% 262144L, whole %/% 4096L %% 64L, whole %/% 64L %% 64L, whole %% 64L)
  made <- paste(signs[made + 1L], collapse = "")
  paste0(substr(made, 1L, nchar(made) - gap), strrep("=", gap))
}

cells <- function(value) {
  if (inherits(value, "Date")) return(ifelse(is.na(value), "null", tagged("date", paste0("\"", format(value, "%Y-%m-%d"), "\""))))
  if (inherits(value, "POSIXct")) return(moments(value))
  if (inherits(value, "difftime")) {
    seconds <- as.numeric(value, units = "secs")
    return(ifelse(is.na(seconds), "null", tagged("duration", sprintf("%.0f", seconds * 1e6))))
  }
  attributes(value) <- NULL
  if (is.logical(value)) return(ifelse(is.na(value), "null", ifelse(value, "true", "false")))
  if (is.integer(value)) return(ifelse(is.na(value), "null", sprintf("%d", value)))
  if (is.complex(value)) return(tagged("complex", paste0("[", reals(Re(value)), ",", reals(Im(value)), "]")))
  if (is.double(value)) return(reals(value))
  if (!is.character(value)) stop("it has no form outside of its language", call. = FALSE)
  ifelse(is.na(value), "null", text(value))
}

rows_of <- function(parts, dims) {
  if (length(dims) <= 1L) return(paste0("[", paste(parts, collapse = ","), "]"))
  whole <- array(parts, dims)
  inner <- apply(whole, 1L, function(part) rows_of(as.vector(part), dims[-1L]))
  paste0("[", paste(inner, collapse = ","), "]")
}

described_array <- function(value) {
  kind <- switch(typeof(value), logical = "bool", integer = "int32", double = "float64", character = "str", "complex")
  dims <- dim(value)
  attributes(value) <- NULL
  if (anyNA(value) && kind %in% c("bool", "int32", "str")) return(rows_of(cells(value), dims))
  tagged("array", rows_of(cells(value), dims), paste0(",\"dtype\":\"", kind, "\""))
}

named <- function(names, parts) {
  names[is.na(names)] <- ""
  if (anyDuplicated(names) || "$" %in% names) {
    return(tagged("map", paste0("[", paste0("[", text(names), ",", parts, "]", collapse = ","), "]")))
  }
  if (length(parts) == 0L) return("{}")
  paste0("{", paste0(text(names), ":", parts, collapse = ","), "}")
}

exact <- function(value, depth = 0L) {
  if (depth > deepest) stop("it is nested too deep, or holds itself", call. = FALSE)
  if (is.null(value)) return("null")
  if (length(value) > most_items) stop("it is too large", call. = FALSE)
  if (is.character(value) && sum(nchar(value, "bytes"), na.rm = TRUE) > most_characters) stop("it is too large", call. = FALSE)
  if (is.raw(value)) return(tagged("bytes", paste0("\"", base64(value), "\"")))
  if (inherits(value, "POSIXlt")) value <- as.POSIXct(value)
  if (is.factor(value)) {
    codes <- as.integer(value) - 1L
    codes[is.na(codes)] <- -1L
    levels <- paste0("[", paste(text(levels(value)), collapse = ","), "]")
    more <- paste0(",\"levels\":", levels, ",\"ordered\":", if (is.ordered(value)) "true" else "false")
    return(tagged("factor", paste0("[", paste(codes, collapse = ","), "]"), more))
  }
  if (is.list(value)) {
    inner <- vapply(unclass(value), exact, "", depth = depth + 1L, USE.NAMES = FALSE)
    if (is.null(names(value))) return(paste0("[", paste(inner, collapse = ","), "]"))
    return(named(names(value), inner))
  }
  if (!is.atomic(value)) stop("it has no form outside of its language", call. = FALSE)
  if (!is.null(dim(value))) return(described_array(value))
  parts <- cells(value)
  if (!is.null(names(value))) return(named(names(value), parts))
  if (length(value) == 1L && !inherits(value, "AsIs")) return(if (parts == "null") tagged("missing", "null") else parts)
  paste0("[", paste(parts, collapse = ","), "]")
}

exactly <- function(value) {
  made <- tryCatch(exact(value), error = function(problem) problem)
  if (inherits(made, "condition")) return(list(kind = "opaque", why = conditionMessage(made)))
  if (nchar(made, "bytes") > 3L * most_characters) return(list(kind = "opaque", why = "it is too large"))
  list(kind = "json", exact = structure(made, class = "json"))
}
