/* The report of a job as PDF.  A process of its own draws it: Pango and GLib
 * end the process when memory is short, and keep memory for fonts. */
#ifndef BJ_APISERVER_PDF_H
#define BJ_APISERVER_PDF_H

/* The argument that makes the program such a process; then the paper, "a4" or
 * "letter".  It is not for users. */
#define BJ_PDF_COMMAND "draw-pdf"

enum { BJ_PDF_NO_LIBRARY = 3 }; /* exit status */

/* Read the report as JSON from standard input and write the PDF to standard
 * output.  Returns the exit status. */
int bj_pdf_process(const char *paper);

#endif
