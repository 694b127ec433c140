"""Reads PNG images of 8-bit RGB or RGBA, as PNG (ISO 15948) defines them."""
import collections
import struct
import zlib


class Image:
    def __init__(self, data):
        assert data[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG file"
        at, packed = 8, b""
        while at < len(data):
            n, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + n]
            assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0]
            if kind == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlaced = struct.unpack(
                    ">IIBBBBB", body)
                assert depth == 8 and colour in (2, 6) and interlaced == 0
                self.bytes = 3 if colour == 2 else 4
            elif kind == b"IDAT":
                packed += body
            at += 12 + n
        self.colours = {}  # row: number of pixels of each colour
        self.rows = self.unfilter(zlib.decompress(packed))

    def unfilter(self, raw):
        n, wide = self.bytes, self.width * self.bytes
        last, rows = bytearray(wide), []
        for y in range(self.height):
            filter_type = raw[y * (wide + 1)]
            row = bytearray(raw[y * (wide + 1) + 1:(y + 1) * (wide + 1)])
            if filter_type == 2:
                row = bytearray(x + b & 255 for x, b in zip(row, last))
            elif filter_type:
                for k in range(n):
                    self.predict(filter_type, row, last, k)
            rows.append(row)
            last = row
        return rows

    def predict(self, filter_type, row, last, first):
        """Undo the filter of one channel: add to each byte the value predicted from its neighbours."""
        n, a, c, out = self.bytes, 0, 0, []
        for x, b in zip(row[first::n], last[first::n]):
            if filter_type == 1:
                a = x + a & 255
            elif filter_type == 3:
                a = x + (a + b) // 2 & 255
            elif a == c:
                a = x + b & 255  # Paeth: a + b - c is b
            elif b == c:
                a = x + a & 255
            else:
                da, db, dc = abs(b - c), abs(a - c), abs(a + b - c - c)
                a = x + (a if da <= db and da <= dc else b if db <= dc else c) & 255
            c = b
            out.append(a)
        row[first::n] = bytes(out)

    def count(self, y, colour):
        """Return how many pixels of row y have nearly that colour (0xRRGGBB)."""
        want = (colour >> 16, colour >> 8 & 255, colour & 255)
        if y not in self.colours:
            row, n = self.rows[y], self.bytes
            self.colours[y] = collections.Counter(zip(row[0::n], row[1::n], row[2::n]))
        return sum(count for pixel, count in self.colours[y].items()
                   if all(abs(a - b) <= 3 for a, b in zip(pixel, want)))

    def lines(self, colour, least):
        """Return the middle of each band of rows that have at least `least` pixels of the colour."""
        has = [self.count(y, colour) >= least for y in range(self.height)] + [False]
        found, first = [], None
        for y, yes in enumerate(has):
            if yes and first is None:
                first = y
            elif not yes and first is not None:
                found.append((first + y - 1) / 2)
                first = None
        return found
