#include "report/pdf/libpango.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const char cairo[] = "libcairo.so.2";
static const char pango[] = "libpango-1.0.so.0";
static const char pangocairo[] = "libpangocairo-1.0.so.0";
static const char gobject[] = "libgobject-2.0.so.0";
static const char glib[] = "libglib-2.0.so.0";

#define CALL(file_, member, symbol)                                            \
    {                                                                          \
        file_, symbol, offsetof(struct bj_libpango, member)                    \
    }

#define ROUND_POSITIONS "pango_context_set_round_glyph_positions"

/* Ordered by file. */
static const struct {
    const char *file, *name;
    size_t off;
} calls[] = {
    CALL(cairo, pdf, "cairo_pdf_surface_create_for_stream"),
    CALL(cairo, image, "cairo_image_surface_create"),
    CALL(cairo, png, "cairo_surface_write_to_png_stream"),
    CALL(cairo, pdf_metadata, "cairo_pdf_surface_set_metadata"),
    CALL(cairo, surface_finish, "cairo_surface_finish"),
    CALL(cairo, surface_status, "cairo_surface_status"),
    CALL(cairo, surface_destroy, "cairo_surface_destroy"),
    CALL(cairo, create, "cairo_create"),
    CALL(cairo, destroy, "cairo_destroy"),
    CALL(cairo, status, "cairo_status"),
    CALL(cairo, status_text, "cairo_status_to_string"),
    CALL(cairo, save, "cairo_save"),
    CALL(cairo, restore, "cairo_restore"),
    CALL(cairo, rectangle, "cairo_rectangle"),
    CALL(cairo, clip, "cairo_clip"),
    CALL(cairo, fill, "cairo_fill"),
    CALL(cairo, move_to, "cairo_move_to"),
    CALL(cairo, line_to, "cairo_line_to"),
    CALL(cairo, stroke, "cairo_stroke"),
    CALL(cairo, line_width, "cairo_set_line_width"),
    CALL(cairo, line_join, "cairo_set_line_join"),
    CALL(cairo, dash, "cairo_set_dash"),
    CALL(cairo, scale, "cairo_scale"),
    CALL(cairo, paint, "cairo_paint"),
    CALL(cairo, colour, "cairo_set_source_rgb"),
    CALL(cairo, show_page, "cairo_show_page"),
    CALL(cairo, pdf_version, "cairo_pdf_surface_restrict_to_version"),
    CALL(cairo, tag_begin, "cairo_tag_begin"),
    CALL(cairo, tag_end, "cairo_tag_end"),
    CALL(pango, map_families, "pango_font_map_list_families"),
    CALL(pango, font_new, "pango_font_description_new"),
    CALL(pango, font_family, "pango_font_description_set_family"),
    CALL(pango, font_weight, "pango_font_description_set_weight"),
    CALL(pango, font_size, "pango_font_description_set_absolute_size"),
    CALL(pango, font_free, "pango_font_description_free"),
    CALL(pango, attrs_new, "pango_attr_list_new"),
    CALL(pango, attrs_free, "pango_attr_list_unref"),
    CALL(pango, attrs_insert, "pango_attr_list_insert"),
    CALL(pango, attr_features, "pango_attr_font_features_new"),
    CALL(pango, layout_attrs, "pango_layout_set_attributes"),
    CALL(pango, layout_text, "pango_layout_set_text"),
    CALL(pango, layout_font, "pango_layout_set_font_description"),
    CALL(pango, layout_width, "pango_layout_set_width"),
    CALL(pango, layout_height, "pango_layout_set_height"),
    CALL(pango, layout_ellipsize, "pango_layout_set_ellipsize"),
    CALL(pango, layout_wrap, "pango_layout_set_wrap"),
    CALL(pango, layout_auto_dir, "pango_layout_set_auto_dir"),
    CALL(pango, layout_one_paragraph, "pango_layout_set_single_paragraph_mode"),
    CALL(pango, layout_size, "pango_layout_get_size"),
    CALL(pango, layout_context, "pango_layout_get_context"),
    CALL(pango, round_positions, ROUND_POSITIONS),
    CALL(pangocairo, map, "pango_cairo_font_map_get_default"),
    CALL(pangocairo, layout_new, "pango_cairo_create_layout"),
    CALL(pangocairo, layout_show, "pango_cairo_show_layout"),
    CALL(gobject, unref, "g_object_unref"),
    CALL(glib, free, "g_free"),
};

/* Check for fonts, because pango ends the program if there are none. */
static int check_fonts(const struct bj_libpango *p, struct bj_err *err)
{
    void **families = NULL;
    int n = 0;
    p->map_families(p->map(), &families, &n);
    p->free(families);
    return n > 0 ? 0
                 : bj_err_set(err, -ENOSYS,
                              "no font is installed; install DejaVu Sans");
}

int bj_libpango_load(struct bj_libpango *ret, struct bj_err *err)
{
    const char *at = NULL;
    void *lib = NULL;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (calls[i].file != at) {
            at = calls[i].file;
            lib = dlopen(at, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        }
        if (!lib)
            return bj_err_set(err, -ENOSYS,
                              "PDF and PNG need cairo and Pango: %s is not "
                              "installed",
                              at);
        void *call = dlsym(lib, calls[i].name);
        if (!call && strcmp(calls[i].name, ROUND_POSITIONS) != 0)
            return bj_err_set(err, -ENOSYS, "%s lacks %s", at, calls[i].name);
        /* POSIX allows this conversion to a function pointer. */
        memcpy((char *)ret + calls[i].off, &call, sizeof(call));
    }
    return check_fonts(ret, err);
}
