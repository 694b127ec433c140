"""Reads PNG images of 8-bit RGB or RGBA, as PNG (ISO 15948) defines them."""
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
        self.rows = self.unfilter(zlib.decompress(packed))

    def unfilter(self, raw):
        n, wide = self.bytes, self.width * self.bytes
        last, rows = bytearray(wide), []
        for y in range(self.height):
            how = raw[y * (wide + 1)]
            row = bytearray(raw[y * (wide + 1) + 1:(y + 1) * (wide + 1)])
            for i in range(wide if how else 0):
                a, b = row[i - n] if i >= n else 0, last[i]
                if how == 1:
                    row[i] = row[i] + a & 255
                elif how == 2:
                    row[i] = row[i] + b & 255
                elif how == 3:
                    row[i] = row[i] + (a + b) // 2 & 255
                else:
                    c = last[i - n] if i >= n else 0
                    p = a + b - c
                    d = abs(p - a), abs(p - b), abs(p - c)
                    best = a if d[0] <= d[1] and d[0] <= d[2] else b if d[1] <= d[2] else c
                    row[i] = row[i] + best & 255
            rows.append(row)
            last = row
        return rows

    def count(self, y, colour):
        """How many pixels of a row have nearly that colour, 0xRRGGBB."""
        want = (colour >> 16, colour >> 8 & 255, colour & 255)
        row, n = self.rows[y], self.bytes
        return sum(all(abs(row[x + i] - want[i]) <= 3 for i in range(3))
                   for x in range(0, self.width * n, n))

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
