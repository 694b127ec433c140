/* cairo and pango, loaded when a PDF or PNG is drawn: with their dependencies
 * (GLib, fontconfig, FreeType, X11) they would slow down every start of the
 * programs, so the build needs neither headers nor libraries.
 *
 * Sources: cairo.h and cairo-pdf.h of cairo 1.16; pango-layout.h, pango-font.h,
 * pango-fontmap.h and pangocairo.h of Pango 1.42.  The ABI is that of the file
 * names of the libraries. */
#ifndef BJ_REPORT_PDF_LIBPANGO_H
#define BJ_REPORT_PDF_LIBPANGO_H

#include "base/err.h"

struct bj_cairo;
struct bj_cairo_surface;
struct bj_pango_context;
struct bj_pango_layout;
struct bj_pango_font;
struct bj_pango_map;
struct bj_pango_attr;
struct bj_pango_attrs;

/* 0, or another value when the write failed. */
typedef int bj_cairo_write(void *ctx, const unsigned char *p, unsigned n);

/* Values of cairo_pdf_metadata_t that are used. */
enum {
    BJ_CAIRO_TITLE = 0,
    BJ_CAIRO_AUTHOR = 1,
    BJ_CAIRO_SUBJECT = 2,
    BJ_CAIRO_CREATOR = 4,
    BJ_CAIRO_CREATE_DATE = 5,
    BJ_CAIRO_MOD_DATE = 6
};

enum {
    BJ_CAIRO_WRITE_ERROR = 11,  /* cairo_status_t */
    BJ_CAIRO_RGB24 = 1,         /* cairo_format_t */
    BJ_CAIRO_JOIN_ROUND = 1,    /* cairo_line_join_t */
    BJ_CAIRO_PDF_1_4 = 0,       /* cairo_pdf_version_t */
    BJ_PANGO_SCALE = 1024,      /* units of a point */
    BJ_PANGO_BOLD = 700,        /* PangoWeight */
    BJ_PANGO_ELLIPSIZE_END = 3, /* PangoEllipsizeMode */
    BJ_PANGO_WRAP_WORD_CHAR = 2 /* PangoWrapMode */
};

struct bj_libpango {
    struct bj_cairo_surface *(*pdf)(bj_cairo_write *write, void *ctx,
                                    double width, double height);
    struct bj_cairo_surface *(*image)(int format, int width, int height);
    int (*png)(struct bj_cairo_surface *s, bj_cairo_write *write, void *ctx);
    void (*pdf_metadata)(struct bj_cairo_surface *s, int which,
                         const char *text);
    void (*pdf_version)(struct bj_cairo_surface *s, int version);
    void (*surface_finish)(struct bj_cairo_surface *s);
    int (*surface_status)(struct bj_cairo_surface *s);
    void (*surface_destroy)(struct bj_cairo_surface *s);
    struct bj_cairo *(*create)(struct bj_cairo_surface *s);
    void (*destroy)(struct bj_cairo *c);
    int (*status)(struct bj_cairo *c);
    const char *(*status_text)(int status);
    void (*save)(struct bj_cairo *c);
    void (*restore)(struct bj_cairo *c);
    void (*rectangle)(struct bj_cairo *c, double x, double y, double width,
                      double height);
    void (*clip)(struct bj_cairo *c);
    void (*fill)(struct bj_cairo *c);
    void (*move_to)(struct bj_cairo *c, double x, double y);
    void (*line_to)(struct bj_cairo *c, double x, double y);
    void (*stroke)(struct bj_cairo *c);
    void (*line_width)(struct bj_cairo *c, double width);
    void (*line_join)(struct bj_cairo *c, int join);
    void (*dash)(struct bj_cairo *c, const double *dash, int n, double offset);
    void (*scale)(struct bj_cairo *c, double x, double y);
    void (*paint)(struct bj_cairo *c);
    void (*colour)(struct bj_cairo *c, double red, double green, double blue);
    void (*show_page)(struct bj_cairo *c);
    void (*tag_begin)(struct bj_cairo *c, const char *name,
                      const char *attributes);
    void (*tag_end)(struct bj_cairo *c, const char *name);
    struct bj_pango_map *(*map)(void); /* belongs to the library */
    void (*map_families)(struct bj_pango_map *m, void ***families, int *n);
    struct bj_pango_font *(*font_new)(void);
    void (*font_family)(struct bj_pango_font *f, const char *names);
    void (*font_weight)(struct bj_pango_font *f, int weight);
    void (*font_size)(struct bj_pango_font *f, double size);
    void (*font_free)(struct bj_pango_font *f);
    struct bj_pango_layout *(*layout_new)(struct bj_cairo *c);
    struct bj_pango_attrs *(*attrs_new)(void);
    void (*attrs_free)(struct bj_pango_attrs *a);
    void (*attrs_insert)(struct bj_pango_attrs *a, struct bj_pango_attr *one);
    struct bj_pango_attr *(*attr_features)(const char *features);
    void (*layout_attrs)(struct bj_pango_layout *l, struct bj_pango_attrs *a);
    void (*layout_text)(struct bj_pango_layout *l, const char *text, int n);
    void (*layout_font)(struct bj_pango_layout *l,
                        const struct bj_pango_font *f);
    void (*layout_width)(struct bj_pango_layout *l, int width);
    void (*layout_height)(struct bj_pango_layout *l, int height);
    void (*layout_ellipsize)(struct bj_pango_layout *l, int mode);
    void (*layout_wrap)(struct bj_pango_layout *l, int mode);
    void (*layout_auto_dir)(struct bj_pango_layout *l, int yes);
    void (*layout_one_paragraph)(struct bj_pango_layout *l, int yes);
    void (*layout_size)(struct bj_pango_layout *l, int *width, int *height);
    struct bj_pango_context *(*layout_context)(struct bj_pango_layout *l);
    /* Since 1.44; NULL in older versions, which do not round. */
    void (*round_positions)(struct bj_pango_context *c, int yes);
    void (*layout_show)(struct bj_cairo *c, struct bj_pango_layout *l);
    void (*unref)(void *object);
    void (*free)(void *p);
};

/* Load the libraries, which stay loaded.  -ENOSYS: one is missing, or there are
 * no fonts. */
int bj_libpango_load(struct bj_libpango *ret, struct bj_err *err);

#endif
