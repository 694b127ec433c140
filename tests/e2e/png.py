"""Reads PNG images of 8-bit RGB or RGBA, as PNG (ISO 15948) defines them."""
import collections
import struct
import zlib


class Image:
    def __init__(self, data):
        assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
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
        self.colours = {}  # by row: how many pixels have it
        self.rows = self.unfilter(zlib.decompress(packed))

    def unfilter(self, raw):
        n, wide = self.bytes, self.width * self.bytes
        last, rows = bytearray(wide), []
        for y in range(self.height):
            how = raw[y * (wide + 1)]
            row = bytearray(raw[y * (wide + 1) + 1:(y + 1) * (wide + 1)])
            if how == 2:
                row = bytearray(x + b & 255 for x, b in zip(row, last))
            elif how:
                for k in range(n):
                    self.predict(how, row, last, k)
            rows.append(row)
            last = row
        return rows

    def predict(self, how, row, last, first):
        """Add to each byte of a channel what its neighbours predict."""
        n, a, c, out = self.bytes, 0, 0, []
        for x, b in zip(row[first::n], last[first::n]):
            if how == 1:
                a = x + a & 255
            elif how == 3:
                a = x + (a + b) // 2 & 255
            elif a == c:
                a = x + b & 255  # the nearest to a + b - c
            elif b == c:
                a = x + a & 255
            else:
                da, db, dc = abs(b - c), abs(a - c), abs(a + b - c - c)
                a = x + (a if da <= db and da <= dc else b if db <= dc else c) & 255
            c = b
            out.append(a)
        row[first::n] = bytes(out)

    def count(self, y, colour):
        """How many pixels of a row have nearly that colour, 0xRRGGBB."""
        want = (colour >> 16, colour >> 8 & 255, colour & 255)
        if y not in self.colours:
            row, n = self.rows[y], self.bytes
            self.colours[y] = collections.Counter(zip(row[0::n], row[1::n], row[2::n]))
        return sum(count for pixel, count in self.colours[y].items()
                   if all(abs(a - b) <= 3 for a, b in zip(pixel, want)))

    def lines(self, colour, least):
        """The middle of each band of rows with at least so many pixels of the colour."""
        has = [self.count(y, colour) >= least for y in range(self.height)] + [False]
        found, first = [], None
        for y, yes in enumerate(has):
            if yes and first is None:
                first = y
            elif not yes and first is not None:
                found.append((first + y - 1) / 2)
                first = None
        return found
