# Tables: columns of plain binary in one file, their kinds in the message. Read by kernel.R into its own environment.

read_table <- function(path, columns) {
  from <- file(path, open = "rb")
  on.exit(close(from))
  made <- lapply(columns, function(column) {
    rows <- column$rows
    if (column$kind %in% c("string", "bytes")) {
      sizes <- readBin(from, "integer", rows, size = 4L, endian = "little")
      if (column$kind == "bytes") {
        return(I(lapply(sizes, function(size) if (size < 0L) NULL else readBin(from, "raw", size))))
      }
      bytes <- readBin(from, "raw", sum(sizes[sizes > 0L]))
      values <- rep(NA_character_, rows)
      there <- sizes >= 0L
      if (any(there)) values[there] <- readChar(bytes, sizes[there], useBytes = TRUE)
      Encoding(values) <- "UTF-8"
      return(values)
    }
    if (column$kind %in% c("integer", "logical", "factor")) {
      values <- readBin(from, "integer", rows, size = 4L, endian = "little")
      if (column$kind == "logical") return(as.logical(values))
      if (column$kind == "integer") return(values)
      kinds <- if (isTRUE(column$ordered)) c("ordered", "factor") else "factor"
      return(structure(values + 1L, levels = as.character(unlist(column$levels)), class = kinds))
    }
    values <- readBin(from, "double", rows, size = 8L, endian = "little")
    switch(column$kind,
      date = structure(values, class = "Date"),
      datetime = structure(values, class = c("POSIXct", "POSIXt"), tzone = if (is.null(column$zone)) "" else column$zone),
      duration = as.difftime(values, units = "secs"),
      values
    )
  })
  names(made) <- vapply(columns, function(column) column$name, "")
  rows <- if (length(made)) length(made[[1L]]) else 0L
  structure(made, class = "data.frame", row.names = .set_row_names(rows))
}

kind_of <- function(values) {
  if (is.factor(values)) return("factor")
  if (is.list(values) && all(vapply(values, function(cell) is.null(cell) || is.raw(cell), NA))) return("bytes")
  if (is.logical(values)) return("logical")
  if (inherits(values, "Date")) return("date")
  if (inherits(values, "POSIXct")) return("datetime")
  if (inherits(values, "difftime")) return("duration")
  if (is.integer(values)) return("integer")
  if (is.numeric(values)) return("double")
  "string"
}

write_table <- function(frame, path) {
  frame <- as.data.frame(frame)
  to <- file(path, open = "wb")
  on.exit(close(to))
  names <- make.unique(as.character(colnames(frame)), sep = "_")
  described <- lapply(seq_along(frame), function(position) {
    values <- frame[[position]]
    if (inherits(values, "POSIXlt")) values <- as.POSIXct(values)
    kind <- kind_of(values)
    more <- list()
    if (kind == "bytes") {
      writeBin(vapply(values, function(cell) if (is.null(cell)) -1L else length(cell), 0L), to, size = 4L, endian = "little")
      for (cell in values) if (length(cell)) writeBin(cell, to)
    } else if (kind == "string") {
      if (is.list(values)) values <- vapply(values, function(each) paste(format(each), collapse = ", "), "")
      values <- enc2utf8(as.character(values))
      sizes <- nchar(values, type = "bytes", allowNA = TRUE, keepNA = TRUE)
      sizes[is.na(sizes)] <- -1L
      writeBin(as.integer(sizes), to, size = 4L, endian = "little")
      for (part in split(values[sizes > 0L], ceiling(seq_along(values[sizes > 0L]) / 100000))) {
        writeBin(charToRaw(paste(part, collapse = "")), to)
      }
    } else if (kind == "factor") {
      more <- list(levels = always_list(levels(values)), ordered = is.ordered(values))
      writeBin(as.integer(values) - 1L, to, size = 4L, endian = "little")
    } else if (kind %in% c("integer", "logical")) {
      writeBin(as.integer(values), to, size = 4L, endian = "little")
    } else {
      if (kind == "duration") units(values) <- "secs"
      zone <- attr(values, "tzone")[1L]
      if (kind == "datetime" && !is.null(zone) && nzchar(zone)) more <- list(zone = zone)
      writeBin(as.double(values), to, size = 8L, endian = "little")
    }
    c(list(name = names[position], kind = kind, rows = nrow(frame)), more)
  })
  structure(json(described), class = "json")
}

arrow_names <- c(
  integer = "int32", double = "double", logical = "bool", string = "string", date = "date32[day]",
  datetime = "timestamp[us]", duration = "duration[us]", factor = "dictionary", bytes = "binary"
)

look_table <- function(frame, more) {
  shown <- frame[seq_len(min(ncol(frame), 200L))]
  count <- max(5L, min(100L * more, 5000L * (more + 1L) %/% max(1L, ncol(shown))))
  first <- as.data.frame(utils::head(shown, count))
  columns <- lapply(seq_along(first), function(position) {
    list(name = colnames(first)[position], type = arrow_names[[kind_of(first[[position]])]])
  })
  cells <- lapply(first, function(values) {
    kind <- kind_of(values)
    if (kind == "datetime") values <- format(values, "%Y-%m-%d %H:%M:%S%z")
    if (kind %in% c("integer", "logical")) return(scalar(values))
    if (kind == "double") return(ifelse(is.finite(values), reals(values), ifelse(is.na(values) & !is.nan(values), "null", text(values))))
    if (is.list(values)) values <- vapply(values, function(each) paste(format(each), collapse = ", "), "")
    values <- as.character(values)
    ifelse(is.na(values), "null", text(substr(values, 1L, 400L)))
  })
  rows <- if (length(cells)) do.call(paste, c(unname(cells), sep = ",")) else character()
  head <- structure(paste0("[", paste0("[", rows, "]", collapse = ","), "]"), class = "json")
  if (nrow(first) == 0L) head <- structure("[]", class = "json")
  list(
    kind = "table", type = class(frame)[1L], bytes = as.numeric(utils::object.size(frame)), rows = nrow(frame),
    columns = structure(json(columns), class = "json"), width = ncol(frame), head = head
  )
}
