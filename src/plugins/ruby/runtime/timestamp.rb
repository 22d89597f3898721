# LogStash::Timestamp: an instant in UTC. Spillway sends it as seconds and nanoseconds, which become a Time when asked for.
module LogStash
  class TimestampParserError < StandardError; end

  class Timestamp
    include Comparable

    ISO8601 = /\A(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|z|[+-]\d\d(?::?\d\d)?)?\z/.freeze

    def self.now
      new
    end

    def self.at(seconds, microseconds = 0)
      new(Time.at(seconds, microseconds))
    end

    def self.coerce(value)
      case value
      when Timestamp then value
      when String, Time then new(value)
      end
    rescue TimestampParserError
      nil
    end

    def self.parse_iso8601(text)
      new(text)
    end

    def initialize(at = nil)
      case at
      when nil then take(Time.now)
      when Time then take(at)
      when Timestamp then @s, @n = at.to_i, at.nsec
      when String then take(parse(at))
      else raise TypeError, "wrong argument type #{at.class} (expected nil, Time or String)"
      end
    end

    def time
      Time.at(@s, @n, :nsec).utc
    end

    def utc
      self
    end
    alias gmtime utc

    def to_i
      @s
    end
    alias tv_sec to_i

    def to_f
      @s + (@n / 1e9)
    end

    def to_r
      Rational((@s * 1_000_000_000) + @n, 1_000_000_000)
    end

    def nsec
      @n
    end
    alias tv_nsec nsec

    def usec
      @n / 1000
    end
    alias tv_usec usec

    def year
      time.year
    end

    def to_iso8601
      digits = (@n % 1_000_000).zero? ? 3 : (@n % 1000).zero? ? 6 : 9
      time.strftime("%Y-%m-%dT%H:%M:%S.%#{digits}NZ")
    end
    alias to_s to_iso8601
    alias inspect to_iso8601

    def to_json(*)
      "\"#{to_iso8601}\""
    end

    def <=>(other)
      return unless other.is_a?(Timestamp)

      [@s, @n] <=> [other.to_i, other.nsec]
    end

    def eql?(other)
      self == other
    end

    def hash
      [@s, @n].hash
    end

    def +(other)
      time + other
    end

    def -(other)
      other.is_a?(Timestamp) ? (to_r - other.to_r).to_f : time - other
    end


    private

    def take(time)
      @s = time.to_i
      @n = time.nsec
    end

    def parse(text)
      year, month, day, hour, minute, second, fraction, zone = ISO8601.match(text)&.captures
      bad = "invalid timestamp string `#{text}`"
      raise TimestampParserError, bad unless year

      nanos = (fraction || "0").ljust(9, "0").to_i
      seconds = second.to_i + Rational(nanos, 1_000_000_000)
      time = Time.new(year.to_i, month.to_i, day.to_i, hour.to_i, minute.to_i, seconds, offset(zone))
      raise TimestampParserError, bad if time.day != day.to_i || hour.to_i > 23 || second.to_i > 59

      time
    rescue ArgumentError
      raise TimestampParserError, bad
    end

    def offset(zone)
      case zone
      when nil then nil
      when "Z", "z" then "+00:00"
      else "#{zone[0, 3]}:#{zone.size > 3 ? zone[-2, 2] : '00'}"
      end
    end
  end
end
