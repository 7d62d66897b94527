# Run in this folder: gnuplot bandwidth_allreduce_2r.gp
data = 'bandwidth_allreduce_2r.dat'
set encoding utf8
set style fill transparent solid 0.2 noborder
set grid back lt 1 lw 0.6 lc rgb '#DDDDDD'
set border 3
set tics nomirror
set title 'Bus bandwidth over size: allreduce, 2 ranks'."\n".'tcp · f32 · sum · band: 95 % CI of the median' noenhanced
set rmargin 5
set key outside bottom center horizontal Left reverse noenhanced maxcols 2
set xlabel 'size (bytes)'."\n "
set logscale x 2
set xrange [838860.8:20971520]
set xtics ('1 MiB' 1048576, '2 MiB' 2097152, '4 MiB' 4194304, '8 MiB' 8388608, '16 MiB' 16777216) noenhanced
set ylabel 'bus bandwidth (GB/s, 10^9 bytes per second)'
set yrange [0:3.484449121]
set terminal svg size 860,564 font 'DejaVu Sans,13' background '#FFFFFF' noenhanced
set output 'bandwidth_allreduce_2r.svg'
plot \
  data index 0 using 1:2 with linespoints lw 2 pt 7 ps 0.9 lc rgb '#0072B2' title 'ring, in place', \
  data index 1 using 1:3:4 with filledcurves lc rgb '#0072B2' notitle, \
  data index 2 using 1:2 with linespoints lw 2 pt 5 ps 0.9 lc rgb '#D55E00' title 'ring, out of place', \
  data index 3 using 1:3:4 with filledcurves lc rgb '#D55E00' notitle, \
  data index 4 using 1:2 with points pt 2 ps 1.2 lw 2 lc rgb '#444444' title 'roof: bare socket, both ways at once, at 4 MiB'
set terminal pngcairo size 860,564 font 'DejaVu Sans,11' noenhanced
set output 'bandwidth_allreduce_2r.png'
replot
unset output
